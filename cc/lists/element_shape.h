#ifndef CC_LISTS_ELEMENT_SHAPE_H_
#define CC_LISTS_ELEMENT_SHAPE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/list_variant.h"

namespace tensor_array_grad {

// Reads the input element_shape of a list op: a vector with -1 for unknown sizes, or the scalar -1
// for an unknown rank.
absl::Status ShapeFromTensor(const Tensor& tensor, PartialTensorShape* shape);

// Reads the input num_elements of TensorListReserve, with stock's errors.
absl::Status ReservedSize(const Tensor& num_elements, int64_t* size);

// The opposite of ShapeFromTensor, of `dtype` int32 or int64.
Tensor ShapeToTensor(const PartialTensorShape& shape, DataType dtype);

// Sets `shape` to the element shape of `list`, merged with the input `element_shape` of an op.
absl::Status MergedElementShape(const ListVariant& list, const Tensor& element_shape,
                                PartialTensorShape* shape);

// Sets `row` to the shape of one row of `tensor`. InvalidArgument for a scalar, and for a tensor
// without rows whose row would have too many values.
absl::Status RowShape(const Tensor& tensor, TensorShape* row);

// Sets `out` to [count] + element. InvalidArgument if a tensor cannot be that large.
absl::Status StackedShape(const TensorShape& element, int64_t count, TensorShape* out);

// Merges the shapes of many elements into one, which they must all have.
class ShapeMerger {
 public:
  explicit ShapeMerger(PartialTensorShape shape) : shape_(std::move(shape)) {}

  // Merges in `element`. TensorFlow's error for incompatible shapes if it does not fit; the shape
  // is unspecified then.
  absl::Status Add(const TensorShape& element);
  // Merges in all elements of `list` that have a shape of their own. O(elements).
  absl::Status AddAll(const ListVariant& list);

  const PartialTensorShape& shape() const { return shape_; }

 private:
  PartialTensorShape shape_;
  TensorShape last_;  // the shape that was merged last, if `any_`
  bool any_ = false;
};

}  // namespace tensor_array_grad

#endif  // CC_LISTS_ELEMENT_SHAPE_H_
