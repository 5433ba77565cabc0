#ifndef CC_SMALL_OPS_SMALL_TARGET_H_
#define CC_SMALL_OPS_SMALL_TARGET_H_

#include <cstdint>
#include <initializer_list>

#include "cc/small_ops/small_op.h"

namespace tensor_array_grad {

// Functions for the small ops that write the elements of a tensor.

// Kernels that broadcast support this many dimensions. They support more if some dimensions can
// be merged into one, and report an error otherwise.
inline constexpr int kMostDimsOfKernels = 5;

// The elements of `tensor`. Requires: its dtype is that of T.
template <typename T>
const T* DataOf(const tensorflow::Tensor& tensor) {
  return static_cast<const T*>(tensor.data());
}

// Whether `tensor` has the dtype and few enough elements for a small op.
inline bool IsSmall(const tensorflow::Tensor& tensor, tensorflow::DataType dtype) {
  return tensor.dtype() == dtype && tensor.NumElements() <= kMostSmallElements;
}

// Whether a result of `dtype` and `shape` may take over the buffer of `operand`: this is the last
// read, and no other tensor shares the buffer.
inline bool MayReuse(const Operand& operand, tensorflow::DataType dtype,
                     const tensorflow::TensorShape& shape) {
  if (!operand.last) return false;
  const tensorflow::Tensor* const tensor = operand.value->LastTensor();
  return tensor->dtype() == dtype && tensor->RefCountIsOne() && tensor->shape() == shape;
}

// Returns a tensor with the buffer of the first operand that allows it, or a new one from
// MakeSmallTensor.
inline tensorflow::Tensor Target(std::initializer_list<Operand> operands,
                                 tensorflow::DataType dtype, const tensorflow::TensorShape& shape,
                                 const SmallOp& op) {
  for (const Operand& operand : operands) {
    if (MayReuse(operand, dtype, shape)) return *operand.value->tensor();
  }
  return MakeSmallTensor(op, dtype, shape);
}

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_TARGET_H_
