#ifndef CC_LISTS_LIST_CODEC_H_
#define CC_LISTS_LIST_CODEC_H_

#include "cc/lists/list_variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace tensor_array_grad {

// How a list leaves the process and comes back: in tensors that are serialised, in files, in
// messages to other processes. The format is stock's, under stock's type name, so that a process
// without this library reads what one with it wrote, and the reverse:
//
//   metadata: varints {number of unset elements, their indices, dtype, max_num_elements}, then the
//             serialised TensorShapeProto of the element shape
//   tensors:  the set elements, by rising index

// Writes `list` to `data`. Any thread may call this.
//
// An element that reads as zeros like another list's is written as a tensor of zeros, as stock's
// lists hold one; as an unset element where its variants are of a type whose zeros only a kernel
// can make. Elements are shared with `data`, not copied.
//
// A list that cannot be written (memory is short, or 2**29 elements are unset, whose indices are
// more than a proto holds) cannot be reported: TensorFlow's callers take no status. Then `data`
// gets the type name kUnwritten, which nothing decodes, so that its reader gets an error and not
// another list; and the log of this process says why.
void EncodeList(const ListVariant& list, tensorflow::VariantTensorData* data);
inline constexpr char kUnwritten[] = "unwritten list";  // short: std::string allocates nothing

// Reads a list that this library or stock wrote. False, and `list` unchanged, for anything else.
bool DecodeList(const tensorflow::VariantTensorData& data, ListVariant* list);

// Has TensorFlow decode lists to a ListVariant instead of a tensorflow::TensorList.
//
// Requires: stock's list kernels are replaced, since they do not know ListVariant. Without this a
// list from elsewhere would be converted by each op that reads it, and stock's AddN, which adds
// variants of one type only, would refuse to add it to one that was made here.
void DecodeListsAsOurs();

}  // namespace tensor_array_grad

#endif  // CC_LISTS_LIST_CODEC_H_
