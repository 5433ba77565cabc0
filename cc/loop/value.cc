#include "cc/loop/value.h"

namespace tensor_array_grad {

using tensorflow::Tensor;

void Value::MakeTensor() {
  const size_t size = tensorflow::DataTypeSize(scalar_.dtype);
  if (tensor_.dtype() == scalar_.dtype && tensor_.dims() == 0 && tensor_.RefCountIsOne()) {
    std::memcpy(tensor_.data(), scalar_.bytes, size);
  } else {
    switch (scalar_.dtype) {
      case tensorflow::DT_INT32:
        tensor_ = Tensor(scalar_.as<int32_t>());
        break;
      case tensorflow::DT_INT64:
        tensor_ = Tensor(scalar_.as<int64_t>());
        break;
      case tensorflow::DT_BOOL:
        tensor_ = Tensor(scalar_.as<bool>());
        break;
      case tensorflow::DT_FLOAT:
        tensor_ = Tensor(scalar_.as<float>());
        break;
      default:
        tensor_ = Tensor(scalar_.as<double>());
    }
  }
  state_ = kBoth;
}

}  // namespace tensor_array_grad
