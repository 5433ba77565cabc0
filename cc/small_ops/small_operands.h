#ifndef CC_SMALL_OPS_SMALL_OPERANDS_H_
#define CC_SMALL_OPS_SMALL_OPERANDS_H_

#include <initializer_list>

#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"
#include "cc/small_ops/small_op.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {

// Functions of operands that several small ops share: those for tensors, then those for lists and
// loop stacks.

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
                     const TensorShape& shape, const SmallOp& op) {
  for (const Operand& operand : operands) {
    if (MayReuse(operand, dtype, shape)) return *operand.value->tensor();
  }
  return MakeSmallTensor(op, dtype, shape);
}

// Returns the T in `operand` if the operand is a scalar variant that holds a T; null otherwise. The
// operand owns the T.
template <typename T>
const T* HeldBy(const Operand& operand) {
  if (operand.value->is_number()) return nullptr;
  const Tensor& tensor = *operand.value->tensor();
  if (tensor.dtype() != DT_VARIANT || tensor.dims() != 0) return nullptr;
  return DataOf<Variant>(tensor)->get<T>();
}

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_OPERANDS_H_
