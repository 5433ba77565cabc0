#ifndef CC_DEVICE_DEVICE_ELEMENT_OPS_H_
#define CC_DEVICE_DEVICE_ELEMENT_OPS_H_

#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/functors.h"
#include "cc/device/kernel_names.h"

namespace tensor_array_grad {

// Whether the kernel that `ctx` belongs to runs on a GPU. If so, the values of elements are in
// device memory, and only DeviceElementOps may read or write them.
bool OnGpu(OpKernelContext* ctx);

// A cpu::ParallelFor over the intra-op pool of the kernel's device. Work that takes less time than
// waking a thread is done on the calling thread. Must not outlive the context.
class IntraOpPool {
 public:
  explicit IntraOpPool(OpKernelContext* ctx) : ctx_(ctx) {}
  void operator()(int64_t total, int64_t cost, cpu::Work work) const;

 private:
  OpKernelContext* const ctx_;
};

// The ElementOps of a kernel: allocates through the kernel's context and computes on the kernel's
// device. On a CPU, the calling thread and the device's intra-op pool do the work. On a GPU, the
// work is queued on the device's stream and not waited for. Construction costs nothing. Must not
// outlive the context.
class DeviceElementOps : public ElementOps {
 public:
  explicit DeviceElementOps(OpKernelContext* ctx) : ctx_(ctx) {}

  absl::Status Allocate(DataType dtype, const TensorShape& shape, Tensor* out) override;
  absl::Status Zero(Tensor* out) override;
  absl::Status Add(const Tensor& left, const Tensor& right, Tensor* out) override;
  absl::Status Pack(absl::Span<const Piece> pieces, Tensor* out) override;
  bool on_gpu() const override { return OnGpu(ctx_); }

 private:
  OpKernelContext* const ctx_;
};

}  // namespace tensor_array_grad

#endif  // CC_DEVICE_DEVICE_ELEMENT_OPS_H_
