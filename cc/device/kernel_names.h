#ifndef CC_DEVICE_KERNEL_NAMES_H_
#define CC_DEVICE_KERNEL_NAMES_H_

#include "tensorflow/core/framework/op_kernel.h"

// TensorFlow's names for kernels; see cc/base/tensorflow_names.h.
namespace tensor_array_grad {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;

}  // namespace tensor_array_grad

#endif  // CC_DEVICE_KERNEL_NAMES_H_
