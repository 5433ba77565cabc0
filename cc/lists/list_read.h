#ifndef CC_LISTS_LIST_READ_H_
#define CC_LISTS_LIST_READ_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/core/element_ops.h"
#include "cc/lists/list_variant.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace tensor_array_grad {

// How list ops read elements. An element that was never set reads as zeros, of a shape that the
// list, the op's input element_shape, or the other elements determine.
//
// These functions do no work on values: they find shapes, and the pieces of which a kernel makes
// its output (ElementOps::Pack). None of them changes the list. Errors have the messages of stock's
// kernels.

// One element: the tensor itself, zeros like a tensor, or zeros of `shape` if it is kUnset.
struct ElementValue {
  ListElement element;
  tensorflow::TensorShape shape;
};

// TensorListGetItem. If the element is unset and nothing else determines its shape, it has the
// shape that all other elements have, which takes O(elements).
absl::Status ReadElement(const ListVariant& list, int64_t index,
                         const tensorflow::Tensor& element_shape, ElementValue* value);

// The element that TensorListPopBack removes. O(1).
absl::Status ReadLast(const ListVariant& list, const tensorflow::Tensor& element_shape,
                      ElementValue* value);

// Sets `zeros` to a tensor of zeros like `like`, of a dtype whose zeros need its values (variants).
using ZerosLike =
    absl::FunctionRef<absl::Status(const tensorflow::Tensor& like, tensorflow::Tensor* zeros)>;

// TensorListStack and TensorListGather, in two halves, so that the kernel can allocate its output
// between them. The first finds the shape of an element; the output is [count] + element, see
// StackedShape. The second finds the pieces; it is needed only if the output has values.

// `num_elements`: how many elements the list must have; -1 for any number.
absl::Status ShapeToStack(const ListVariant& list, const tensorflow::Tensor& element_shape,
                          int64_t num_elements, tensorflow::TensorShape* element);
absl::Status PiecesToStack(const ListVariant& list, const tensorflow::TensorShape& element,
                           ZerosLike zeros_like, std::vector<Piece>* pieces);

absl::Status ShapeToGather(const ListVariant& list, const tensorflow::Tensor& element_shape,
                           absl::Span<const int32_t> indices, tensorflow::TensorShape* element);
absl::Status PiecesToGather(const ListVariant& list, const tensorflow::TensorShape& element,
                            absl::Span<const int32_t> indices, ZerosLike zeros_like,
                            std::vector<Piece>* pieces);

// The rows of a concatenation. Elements may differ in their number of rows, their length.
struct ConcatRows {
  tensorflow::TensorShape row;
  int64_t length = -1;  // of unset elements; -1: unknown
};

// TensorListConcat, in two halves as well. `shape` is the element shape, with the length as its
// first dimension.
absl::Status ShapeToConcat(const ListVariant& list, const tensorflow::PartialTensorShape& shape,
                           bool length_is_known, ConcatRows* rows);

// Sets lengths[i] to the length of element i, and `out` to the shape of the output. Unset elements
// have the lengths of `leading_dims`, as far as it has any, or rows.length; `leading_dims` is
// missing for the first version of the op. Requires: lengths.size() == list.size().
absl::Status PiecesToConcat(const ListVariant& list, const ConcatRows& rows,
                            std::optional<absl::Span<const int64_t>> leading_dims,
                            ZerosLike zeros_like, absl::Span<int64_t> lengths,
                            tensorflow::TensorShape* out, std::vector<Piece>* pieces);

}  // namespace tensor_array_grad

#endif  // CC_LISTS_LIST_READ_H_
