#ifndef CC_LOOP_SMALL_VARIANT_H_
#define CC_LOOP_SMALL_VARIANT_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {

// The T in the scalar variant that `operand` is; null if it is anything else.
template <typename T>
const T* HeldBy(const Operand& operand) {
  if (operand.value->is_number()) return nullptr;
  const tensorflow::Tensor& tensor = *operand.value->tensor();
  if (tensor.dtype() != tensorflow::DT_VARIANT || tensor.dims() != 0) return nullptr;
  return static_cast<const tensorflow::Variant*>(tensor.data())->get<T>();
}

// The same if it may be changed: this is the last reader, and nothing else holds the tensor.
template <typename T>
T* ChangeableIn(const Operand& operand) {
  const T* const held = operand.last ? HeldBy<T>(operand) : nullptr;
  if (held == nullptr || !operand.value->LastTensor()->RefCountIsOne()) return nullptr;
  return const_cast<T*>(held);
}

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_VARIANT_H_
