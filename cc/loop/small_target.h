#ifndef CC_LOOP_SMALL_TARGET_H_
#define CC_LOOP_SMALL_TARGET_H_

#include <cstdint>
#include <initializer_list>

#include "cc/loop/small_op.h"

namespace tensor_array_grad {

// What small ops that compute elements have in common.

// Kernels that stretch shapes do so for as many dimensions, and for more if some of them count as
// one; for others they have an error.
inline constexpr int kMostDimsOfKernels = 5;

template <typename T>
const T* DataOf(const tensorflow::Tensor& tensor) {
  return static_cast<const T*>(tensor.data());
}

inline bool IsSmall(const tensorflow::Tensor& tensor, tensorflow::DataType dtype) {
  return tensor.dtype() == dtype && tensor.NumElements() <= kMostSmallElements;
}

// Whether the buffer of `operand` may become that of a result of `dtype` and `shape`.
inline bool MayReuse(const Operand& operand, tensorflow::DataType dtype,
                     const tensorflow::TensorShape& shape) {
  if (!operand.last) return false;
  const tensorflow::Tensor* const tensor = operand.value->LastTensor();
  return tensor->dtype() == dtype && tensor->RefCountIsOne() && tensor->shape() == shape;
}

// The buffer of an operand where it may be reused, else a new one, as MakeSmallTensor makes it.
inline tensorflow::Tensor Target(std::initializer_list<Operand> operands,
                                 tensorflow::DataType dtype, const tensorflow::TensorShape& shape,
                                 const SmallOp& op) {
  for (const Operand& operand : operands) {
    if (MayReuse(operand, dtype, shape)) return *operand.value->tensor();
  }
  return MakeSmallTensor(op, dtype, shape);
}

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_TARGET_H_
