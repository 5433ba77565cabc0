#ifndef CC_BASE_TENSOR_DATA_H_
#define CC_BASE_TENSOR_DATA_H_

#include <cstdint>

#include "cc/base/tensorflow_names.h"

// The elements of tensors, and tensors of integers that are shapes or indices.
namespace tensor_array_grad {

// The elements of `tensor`, whatever their alignment.
template <typename T>
const T* DataOf(const Tensor& tensor) {
  return static_cast<const T*>(tensor.data());
}
template <typename T>
T* DataOf(Tensor* tensor) {
  return static_cast<T*>(tensor->data());
}

// Element i of an int16, int32 or int64 tensor.
inline int64_t IntAt(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DT_INT32) return DataOf<int32_t>(tensor)[i];
  if (tensor.dtype() == DT_INT64) return DataOf<int64_t>(tensor)[i];
  return DataOf<int16_t>(tensor)[i];
}

// Sets element i of an int32 or int64 tensor.
inline void SetIntAt(int64_t i, int64_t value, Tensor* tensor) {
  if (tensor->dtype() == DT_INT32) {
    DataOf<int32_t>(tensor)[i] = static_cast<int32_t>(value);
  } else {
    DataOf<int64_t>(tensor)[i] = value;
  }
}

// Whether `sizes`, an int32 or int64 tensor, describes `shape`. The scalar -1 describes the unknown
// rank.
inline bool IsShape(const Tensor& sizes, const PartialTensorShape& shape) {
  if (sizes.dtype() != DT_INT32 && sizes.dtype() != DT_INT64) return false;
  if (sizes.dims() == 0) return shape.unknown_rank() && IntAt(sizes, 0) == -1;
  if (sizes.dims() != 1 || sizes.dim_size(0) != shape.dims()) return false;
  for (int d = 0; d < shape.dims(); ++d) {
    if (IntAt(sizes, d) != shape.dim_size(d)) return false;
  }
  return true;
}

}  // namespace tensor_array_grad

#endif  // CC_BASE_TENSOR_DATA_H_
