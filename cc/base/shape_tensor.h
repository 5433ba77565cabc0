#ifndef CC_BASE_SHAPE_TENSOR_H_
#define CC_BASE_SHAPE_TENSOR_H_

#include <cstdint>

#include "cc/base/tensorflow_names.h"

// Tensors of integers that are shapes or indices.
namespace tensor_array_grad {

// Element i of an int16, int32 or int64 tensor.
inline int64_t IntAt(const Tensor& tensor, int64_t i) {
  const void* const numbers = tensor.data();
  if (tensor.dtype() == DT_INT32) return static_cast<const int32_t*>(numbers)[i];
  if (tensor.dtype() == DT_INT64) return static_cast<const int64_t*>(numbers)[i];
  return static_cast<const int16_t*>(numbers)[i];
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

#endif  // CC_BASE_SHAPE_TENSOR_H_
