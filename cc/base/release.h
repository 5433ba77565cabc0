#ifndef CC_BASE_RELEASE_H_
#define CC_BASE_RELEASE_H_

#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// Whether a tensor of `dtype` may own other tensors: variants own lists, handles own arrays.
inline bool OwnsOthers(DataType dtype) { return dtype == DT_VARIANT || dtype == DT_RESOURCE; }

// Drops the reference `tensor`. If that destroys an object that calls Release in turn, the inner
// call only queues its tensor for the outermost call of this thread. So the call stack stays flat
// when lists of lists, or arrays that hold handles of arrays, are nested to any depth. Throws
// nothing: if there is no memory to queue a tensor, the tensor is released at once.
// Requires: the caller holds no lock.
void Release(Tensor tensor);

}  // namespace tensor_array_grad

#endif  // CC_BASE_RELEASE_H_
