#ifndef CC_KERNELS_REGISTRATION_H_
#define CC_KERNELS_REGISTRATION_H_

#include <new>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/core/counters.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {

// The dtypes for which an op has a GPU kernel: those that stock has there, because the placement of
// a graph depends on them. `attribute` names the op's dtype attribute; if it is null, the kernel is
// registered for every dtype.
struct GpuTypes {
  const char* attribute = nullptr;
  std::vector<tensorflow::DataType> types;
};
// The dtypes that stock's V3 kernels add on a GPU, and `also`, which some of them serve besides.
GpuTypes GpuNumbers(const char* attribute, std::vector<tensorflow::DataType> also = {});
// The dtypes of stock's TensorList kernels on a GPU: those of GpuNumbers, int32, int64, bool, and
// `also`.
GpuTypes GpuElements(std::vector<tensorflow::DataType> also = {});

// One row of the registration table: the kernel for one op, on CPU and on GPU.
struct KernelSpec {
  const char* op;
  tensorflow::OpKernel* (*create)(tensorflow::OpKernelConstruction*);
  // Arguments that live in host memory when the op is placed on a GPU; on CPU all memory is host.
  std::vector<const char*> gpu_host_memory;
  GpuTypes gpu_types = {};  // on CPU all dtypes are served
  bool on_gpu = true;
};
using KernelTable = std::vector<KernelSpec>;

// The counter "kernels.<op>": calls of this library's kernel for `op`. It proves that this kernel
// ran.
Counter& KernelCalls(const std::string& op);

// Wraps `Kernel`: counts calls and turns std::bad_alloc, which would end the process, into
// RESOURCE_EXHAUSTED. Memory for values comes from TensorFlow's allocators, which fail with a
// Status; memory for everything else comes from operator new, which fails with an exception. What
// the library keeps between calls is unchanged after either.
template <typename Kernel>
class Counted : public Kernel {
 public:
  explicit Counted(tensorflow::OpKernelConstruction* ctx)
      : Kernel(ctx),
        calls_(KernelCalls(this->type_string())),
        out_of_memory_(absl::ResourceExhaustedError(absl::StrCat(
            this->type_string(), " ", this->name(), ": out of memory for its own records."))) {}
  void Compute(tensorflow::OpKernelContext* ctx) override {
    calls_.Add();
    try {
      Kernel::Compute(ctx);
    } catch (const std::bad_alloc&) {
      ctx->SetStatus(out_of_memory_);
    }
  }

 private:
  Counter& calls_;
  const absl::Status out_of_memory_;  // made beforehand: there may be no memory for a message
};

template <typename Kernel>
tensorflow::OpKernel* MakeKernel(tensorflow::OpKernelConstruction* ctx) {
  return new Counted<Kernel>(ctx);
}

// The rows of each kernel file, beside their kernels. A new kernel file adds its function here and
// to AllKernels().
KernelTable LifecycleKernels();      // TensorArrayV3, Size, Close
KernelTable GradKernels();           // TensorArrayGradV3, TensorArrayGradWithShape
KernelTable AccessKernels();         // Write, Read
KernelTable GatherScatterKernels();  // Gather, Scatter
KernelTable ConcatSplitKernels();    // Concat, Split
KernelTable ListAccessKernels();     // TensorList ops that touch one element, ListAccumulate
KernelTable LoopStackKernels();      // loop stacks: pack, push and pop
KernelTable ListBulkKernels();       // TensorList ops that read many elements or change many lists
KernelTable ListWriteKernels();      // TensorList ops that cut a tensor into elements
KernelTable ListReadKernels();       // TensorListConcat, ConcatV2, Split
KernelTable LoopKernels();           // RunLoop
KernelTable SliceSumKernels();       // sums with gradients of slices

// Every kernel of the library. Kernels are generic in dtype and device, so a row is one
// registration per device.
KernelTable AllKernels();

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_REGISTRATION_H_
