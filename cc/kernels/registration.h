#ifndef CC_KERNELS_REGISTRATION_H_
#define CC_KERNELS_REGISTRATION_H_

#include <new>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/op_names.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/kernel_names.h"

namespace tensor_array_grad {

// The dtypes for which an op has a GPU kernel. They are the dtypes of stock's GPU kernel: with
// others, TensorFlow would place the op on another device than it does with stock. `attribute`
// names the op's dtype attribute; if it is null, the kernel is registered for every dtype.
struct GpuTypes {
  const char* attribute = nullptr;
  std::vector<DataType> types;
};
// The dtypes whose values stock's V3 kernels can sum on a GPU, and those in `also`.
GpuTypes GpuNumbers(const char* attribute, std::vector<DataType> also = {});
// The dtypes of stock's TensorList kernels on a GPU: those of GpuNumbers, int32, int64, bool, and
// `also`.
GpuTypes GpuElements(std::vector<DataType> also = {});

// One row of the registration table: the kernel for one op. An op may have several rows.
struct KernelSpec {
  // GPU kernels exist only in a build with device code.
  enum Devices { kCpu, kGpu, kCpuAndGpu };
  const char* op;
  OpKernel* (*create)(OpKernelConstruction*);
  // The names of the inputs and outputs that are in host memory if the op is placed on a GPU.
  std::vector<const char*> gpu_host_memory;
  GpuTypes gpu_types = {};  // on CPU all dtypes are served
  Devices devices = kCpuAndGpu;
  // Whether an op of this library reads or makes the lists of its kernels, and is of no use with
  // stock's.
  bool needs_our_lists = false;

  bool on_cpu() const { return devices != kGpu; }
  bool on_gpu() const { return devices != kCpu; }
};
using KernelTable = std::vector<KernelSpec>;

// The error of a kernel that gets no memory from operator new.
inline absl::Status OutOfMemory(const OpKernel& kernel) {
  return absl::ResourceExhaustedError(absl::StrCat(kernel.type_string(), " ", kernel.name(),
                                                   ": out of memory for its own records."));
}

// Wraps `Kernel`: counts calls, in the counter "kernels.<op>", and turns std::bad_alloc, which
// would end the process, into RESOURCE_EXHAUSTED. Memory for values comes from TensorFlow's
// allocators, which fail with a Status. Memory for everything else comes from operator new, which
// throws. After either failure, the state that the library keeps between calls is unchanged, with
// the exceptions in array_store.h and array_resource.h.
template <typename Kernel>
class CountedBase : public Kernel {
 public:
  explicit CountedBase(OpKernelConstruction* ctx)
      : Kernel(ctx),
        calls_(CounterNamed(absl::StrCat("kernels.", this->type_string()))),
        out_of_memory_(OutOfMemory(*this)) {}

 protected:
  Counter& calls_;
  const absl::Status out_of_memory_;  // made beforehand: there may be no memory for a message
};

template <typename Kernel>
class Counted : public CountedBase<Kernel> {
 public:
  using CountedBase<Kernel>::CountedBase;
  void Compute(OpKernelContext* ctx) override {
    this->calls_.Add();
    try {
      Kernel::Compute(ctx);
    } catch (const std::bad_alloc&) {
      ctx->SetStatus(this->out_of_memory_);
    }
  }
};

// The same for a kernel derived from AsyncOpKernel. Requires: its ComputeAsync throws only before
// it has called `done` or passed it to a callback.
template <typename Kernel>
class CountedAsync : public CountedBase<Kernel> {
 public:
  using CountedBase<Kernel>::CountedBase;
  void ComputeAsync(OpKernelContext* ctx, tensorflow::AsyncOpKernel::DoneCallback done) override {
    this->calls_.Add();
    try {
      Kernel::ComputeAsync(ctx, done);
    } catch (const std::bad_alloc&) {
      ctx->SetStatus(this->out_of_memory_);
      done();
    }
  }
};

// Derives from `Base`, the base of kernels that do little work. The executor runs them on the
// thread that made them ready, since passing them to another thread takes longer than running them.
template <typename Base>
class Cheap : public Base {
 public:
  using Base::Base;
  bool IsExpensive() override { return false; }
};

// KernelSpec::create for `Kernel`. The caller owns the result.
template <typename Kernel>
OpKernel* MakeKernel(OpKernelConstruction* ctx) {
  return new Counted<Kernel>(ctx);
}

template <typename Kernel>
OpKernel* MakeAsyncKernel(OpKernelConstruction* ctx) {
  return new CountedAsync<Kernel>(ctx);
}

// The rows of each kernel file, which defines its function. A new kernel file adds its function
// here and to AllKernels().
KernelTable LifecycleKernels();   // TensorArrayV3, Size, Close
KernelTable GradKernels();        // TensorArrayGradV3, TensorArrayGradWithShape
KernelTable AccessKernels();      // Write, Read
KernelTable BulkKernels();        // Gather, Scatter, Concat, Split
KernelTable ListAccessKernels();  // other TensorList ops, ListAccumulate
KernelTable LoopStackKernels();   // loop stacks: pack, push and pop
KernelTable ListBulkKernels();    // TensorListPushBackBatch, ConcatLists
KernelTable ListWriteKernels();   // TensorList ops that cut a tensor into elements
KernelTable ListReadKernels();    // TensorListStack, Gather, Concat, ConcatV2
KernelTable LoopKernels();        // RunLoop
KernelTable WatchKernels();       // NoteCondition, NoteExit
KernelTable SliceSumKernels();    // sums with gradients of slices
KernelTable StackKernels();       // the stacks of TF1 loops

// Every kernel of the library. Kernels are generic in dtype and device, so a row is one
// registration per device.
KernelTable AllKernels();

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_REGISTRATION_H_
