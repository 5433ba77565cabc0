#ifndef CC_BASE_POOLED_TENSOR_H_
#define CC_BASE_POOLED_TENSOR_H_

#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// Makes `out` a tensor in host memory whose values, uninitialised, share one block of the pool with
// their reference count. Returns false, with `out` unchanged, if the tensor is empty or too large
// for the pool, or its dtype is not plain data. Throws std::bad_alloc.
bool MakePooledTensor(DataType dtype, const TensorShape& shape, Tensor* out);

}  // namespace tensor_array_grad

#endif  // CC_BASE_POOLED_TENSOR_H_
