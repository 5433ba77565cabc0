#ifndef CC_CORE_RELEASE_H_
#define CC_CORE_RELEASE_H_

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {

// Whether a tensor of `dtype` may own other tensors: lists by variants, arrays by handles.
inline bool OwnsOthers(tensorflow::DataType dtype) {
  return dtype == tensorflow::DT_VARIANT || dtype == tensorflow::DT_RESOURCE;
}

// Gives `tensor` up. Where that frees something that gives up tensors in its turn, these wait for
// the outermost call of this thread, so that the stack stays flat: a list in a list in a list, or
// an array that holds the handle of an array, may go any number deep. Call it without a lock.
void Release(tensorflow::Tensor tensor);

}  // namespace tensor_array_grad

#endif  // CC_CORE_RELEASE_H_
