#ifndef CC_SMALL_OPS_SMALL_OPERANDS_H_
#define CC_SMALL_OPS_SMALL_OPERANDS_H_

#include <initializer_list>

#include "cc/base/tensorflow_names.h"
#include "cc/small_ops/small_op.h"

namespace tensor_array_grad {

// Functions that several small ops share: what they may do with the tensor of an operand.

// Kernels that broadcast support this many dimensions. They support more if some dimensions can
// be merged into one, and report an error otherwise.
inline constexpr int kMostDimsOfKernels = 5;

// Whether `tensor` has the dtype and few enough elements for a small op.
inline bool IsSmall(const Tensor& tensor, DataType dtype) {
  return tensor.dtype() == dtype && tensor.NumElements() <= kMostSmallElements;
}

// Whether the tensor of `operand` may be changed in place: this is the last read, and no other
// tensor shares the buffer.
inline bool IsOnlyReference(const Operand& operand) {
  return operand.last && operand.value->LastTensor()->RefCountIsOne();
}

// Whether a result of `dtype` and `shape` may take over the buffer of `operand`.
inline bool MayReuse(const Operand& operand, DataType dtype, const TensorShape& shape) {
  if (!IsOnlyReference(operand)) return false;
  const Tensor& tensor = *operand.value->tensor();
  return tensor.dtype() == dtype && tensor.shape() == shape;
}

// Returns a tensor with the buffer of the first operand that allows it, or a new one from
// MakeSmallTensor.
inline Tensor Target(std::initializer_list<Operand> operands, DataType dtype,
                     const TensorShape& shape, Allocator* allocator) {
  for (const Operand& operand : operands) {
    if (MayReuse(operand, dtype, shape)) return *operand.value->tensor();
  }
  return MakeSmallTensor(allocator, dtype, shape);
}

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_OPERANDS_H_
