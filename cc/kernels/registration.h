#ifndef CC_KERNELS_REGISTRATION_H_
#define CC_KERNELS_REGISTRATION_H_

#include <string>
#include <vector>

#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {

// One row of the registration table: a kernel of ours for one op.
struct KernelSpec {
  const char* op;
  tensorflow::OpKernel* (*create)(tensorflow::OpKernelConstruction*);
  // Arguments that live in host memory when the op is placed on a GPU; on CPU all memory is host.
  std::vector<const char*> gpu_host_memory;
};
using KernelTable = std::vector<KernelSpec>;

template <typename Kernel>
tensorflow::OpKernel* MakeKernel(tensorflow::OpKernelConstruction* ctx) {
  return new Kernel(ctx);
}

// The rows of each kernel file, beside their kernels. A new kernel file adds its function here and
// to AllKernels().
//
// (none yet)

// Every kernel of the library. Kernels are generic in dtype, so a row is one registration a device.
KernelTable AllKernels();

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_REGISTRATION_H_
