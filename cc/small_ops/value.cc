#include "cc/small_ops/value.h"

#include "cc/base/pooled_tensor.h"

namespace tensor_array_grad {

void Value::MakeTensor() {
  const bool reusable =
      tensor_.dtype() == scalar_.dtype && tensor_.dims() == 0 && tensor_.RefCountIsOne();
  if (!reusable) MakePooledTensor(scalar_.dtype, TensorShape({}), &tensor_);
  std::memcpy(tensor_.data(), scalar_.bytes, tensorflow::DataTypeSize(scalar_.dtype));
  state_ = kBoth;
}

}  // namespace tensor_array_grad
