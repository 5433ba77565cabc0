#ifndef CC_LISTS_LIST_READ_H_
#define CC_LISTS_LIST_READ_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_variant.h"

namespace tensor_array_grad {

// The rules by which list ops read elements: which shape an element has, and what the output of an
// op that reads several elements consists of. An element that was never set reads as zeros, of a
// shape that the list, the op's input element_shape, or the other elements determine.
//
// These functions do no work on values, except by ZerosLike: they find shapes, and the pieces of
// which a kernel makes its output (ElementOps::Pack). None of them changes the list, so several
// threads may read one list. Errors are InvalidArgument, with stock's message if stock has the
// check. After an error the outputs are unspecified.

// One element, by its kind. kSet: the tensor itself; kZeros: zeros like a tensor; kUnset: zeros of
// `shape`, which is set for no other kind. `element` points into the list and is valid until the
// list changes.
struct ElementValue {
  ListElement element;
  TensorShape shape;
};

// TensorListGetItem. O(log32 n) for n elements. If the element is unset and nothing else determines
// its shape, it has the shape that all other elements have, which takes O(n).
absl::Status ReadElement(const ListVariant& list, int64_t index, const Tensor& element_shape,
                         ElementValue* value);

// The element that TensorListPopBack removes. O(log32 n). An unset element whose shape neither the
// list nor `element_shape` determines is an error, whatever the other elements are.
absl::Status ReadLast(const ListVariant& list, const Tensor& element_shape, ElementValue* value);

// Sets `zeros` to a tensor of zeros like `like`. Used for variants, whose zeros depend on their
// values.
using ZerosLike = absl::FunctionRef<absl::Status(const Tensor& like, Tensor* zeros)>;

// TensorListStack and TensorListGather, in two halves, so that the kernel can allocate its output
// between them. The first finds the shape of an element; the output is [count] + element
// (StackedShape, element_shape.h). It takes O(1) if the list's element shape is known; otherwise it
// looks at the elements that the op reads. The second appends the pieces to `pieces`, each with a
// reference to its buffer, and also checks every element. If the output has no values, kernels do
// not call it, so that these checks are not made, as on stock. It takes O(elements set) for a
// stack, or O(n) if the list has kZeros, and O(log32 n) per index for a gather.

// `num_elements`: how many elements the list must have; -1 for any number.
absl::Status ShapeToStack(const ListVariant& list, const Tensor& element_shape,
                          int64_t num_elements, TensorShape* element);
absl::Status PiecesToStack(const ListVariant& list, const TensorShape& element,
                           ZerosLike zeros_like, std::vector<Piece>* pieces);

absl::Status ShapeToGather(const ListVariant& list, const Tensor& element_shape,
                           absl::Span<const int32_t> indices, TensorShape* element);
absl::Status PiecesToGather(const ListVariant& list, const TensorShape& element,
                            absl::Span<const int32_t> indices, ZerosLike zeros_like,
                            std::vector<Piece>* pieces);

// The rows of a concatenation. The length of an element is its number of rows; lengths may differ.
struct ConcatRows {
  TensorShape row;
  int64_t length = -1;  // of unset elements; -1: unknown
};

// TensorListConcat, in two halves as well. `shape` is the element shape. Its first dimension is
// the length that all elements must have if `first_dim_is_length` (TensorListConcatV2), and is
// ignored otherwise. Requires: `rows` is new. O(1) if the list's element shape is known, else O(n).
absl::Status ShapeToConcat(const ListVariant& list, const PartialTensorShape& shape,
                           bool first_dim_is_length, ConcatRows* rows);

// Sets lengths[i] to the length of element i and `out` to the shape of the output, and appends the
// output's pieces to `pieces`. O(n). Unset elements have the lengths of `leading_dims`, as far as
// it has any, or rows.length; `leading_dims` is nullopt for TensorListConcat, which has no such
// input. Requires: lengths.size() == list.size().
absl::Status PiecesToConcat(const ListVariant& list, const ConcatRows& rows,
                            std::optional<absl::Span<const int64_t>> leading_dims,
                            ZerosLike zeros_like, absl::Span<int64_t> lengths, TensorShape* out,
                            std::vector<Piece>* pieces);

}  // namespace tensor_array_grad

#endif  // CC_LISTS_LIST_READ_H_
