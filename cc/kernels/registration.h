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

// The dtypes that an op is served for on a GPU: those that stock has there, as a graph's placement
// depends on it. `attribute` tells a node's dtype; an op without it is served whatever it holds.
struct GpuTypes {
  const char* attribute = nullptr;
  std::vector<tensorflow::DataType> types;
};
// What stock's V3 kernels on a GPU add up, and what some of them serve beside.
GpuTypes GpuNumbers(const char* attribute, std::vector<tensorflow::DataType> also = {});
// What stock's TensorList kernels on a GPU serve: these, int32, int64 and bool.
GpuTypes GpuElements(std::vector<tensorflow::DataType> also = {});

// One row of the registration table: a kernel of ours for one op, on CPU and on GPU.
struct KernelSpec {
  const char* op;
  tensorflow::OpKernel* (*create)(tensorflow::OpKernelConstruction*);
  // Arguments that live in host memory when the op is placed on a GPU; on CPU all memory is host.
  std::vector<const char*> gpu_host_memory;
  GpuTypes gpu_types = {};  // on CPU all dtypes are served
  bool on_gpu = true;
};
using KernelTable = std::vector<KernelSpec>;

// The count of calls of our kernels for `op`, "kernels.<op>": the proof that ours ran.
Counter& KernelCalls(const std::string& op);

// Wraps `Kernel`: counts calls and turns std::bad_alloc, which would end the process, into
// RESOURCE_EXHAUSTED. Memory for values is asked of TensorFlow's allocators and fails as a Status;
// memory for everything else is asked of operator new and fails as an exception. What the library
// keeps between calls is unchanged after either.
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
KernelTable AccumulatorKernels();    // the lists that a loop fills for its gradient, as one
KernelTable ListBulkKernels();       // those that read many elements or change many lists
KernelTable ListScatterKernels();    // those that take a tensor apart
KernelTable ListConcatKernels();     // TensorListConcat, ConcatV2, Split
KernelTable LoopKernels();           // RunLoop
KernelTable SliceSumKernels();       // sums with gradients of slices

// Every kernel of the library. Kernels are generic in dtype and device, so a row is one
// registration a device.
KernelTable AllKernels();

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_REGISTRATION_H_
