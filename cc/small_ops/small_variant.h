#ifndef CC_SMALL_OPS_SMALL_VARIANT_H_
#define CC_SMALL_OPS_SMALL_VARIANT_H_

#include "cc/small_ops/small_op.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {

// Returns the T in `operand` if the operand is a scalar variant that holds a T; null otherwise. The
// operand owns the T.
template <typename T>
const T* HeldBy(const Operand& operand) {
  if (operand.value->is_number()) return nullptr;
  const tensorflow::Tensor& tensor = *operand.value->tensor();
  if (tensor.dtype() != tensorflow::DT_VARIANT || tensor.dims() != 0) return nullptr;
  return static_cast<const tensorflow::Variant*>(tensor.data())->get<T>();
}

// The same, but null unless the T may be changed: this is the last read, and no other tensor shares
// the buffer.
template <typename T>
T* ChangeableIn(const Operand& operand) {
  const T* const held = operand.last ? HeldBy<T>(operand) : nullptr;
  if (held == nullptr || !operand.value->LastTensor()->RefCountIsOne()) return nullptr;
  return const_cast<T*>(held);
}

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_VARIANT_H_
