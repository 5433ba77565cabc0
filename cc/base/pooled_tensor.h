#ifndef CC_BASE_POOLED_TENSOR_H_
#define CC_BASE_POOLED_TENSOR_H_

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {

// Makes `out` a tensor in host memory whose values, uninitialised, share one block of the pool with
// their reference count. Returns false, with `out` unchanged, if the tensor is empty or too large
// for the pool, or its dtype is not plain data. Throws std::bad_alloc.
bool MakePooledTensor(tensorflow::DataType dtype, const tensorflow::TensorShape& shape,
                      tensorflow::Tensor* out);

}  // namespace tensor_array_grad

#endif  // CC_BASE_POOLED_TENSOR_H_
