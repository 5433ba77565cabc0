#ifndef CC_LISTS_LIST_CODEC_H_
#define CC_LISTS_LIST_CODEC_H_

#include "cc/lists/list_variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace tensor_array_grad {

// The serialised form of a list, in files and in messages to other processes. The format is
// stock's, under stock's type name, so that a process without this library reads the lists of a
// process with it, and the reverse:
//
//   metadata: varints {number of unset elements, their indices, dtype, max_num_elements}, then the
//             serialised TensorShapeProto of the element shape
//   tensors:  the set elements, by rising index

// Writes `list` to `data`. Any thread may call this.
//
// An element that reads as zeros of another element's shape is written as a tensor of zeros, which
// is what a list of stock's would hold. If it consists of variants whose zeros only a kernel can
// make, it is written as an unset element. Set elements are shared with `data`, not copied.
//
// The write fails if memory is short, or if more than 2**29 elements are unset, whose indices do
// not fit in a proto. This cannot be returned as an error, because TensorFlow's callers accept
// no status. Instead, `data` gets the type name kUnwritten, for which there is no decoder, so that
// reading it is an error and does not yield another list. The log of this process has the reason.
void EncodeList(const ListVariant& list, tensorflow::VariantTensorData* data);
inline constexpr char kUnwritten[] = "unwritten list";  // short: std::string allocates nothing

// Reads a list that this library or stock wrote. False, and `list` unchanged, for anything else.
bool DecodeList(const tensorflow::VariantTensorData& data, ListVariant* list);

// Makes TensorFlow decode lists to a ListVariant instead of a tensorflow::TensorList.
//
// Requires: stock's list kernels are replaced, since they do not know ListVariant. Without this
// function, each op that reads a decoded list would convert all of it, and stock's AddN, which adds
// variants of one type only, would refuse to add it to a ListVariant.
void DecodeListsAsOurs();

}  // namespace tensor_array_grad

#endif  // CC_LISTS_LIST_CODEC_H_
