#include "cc/device/device_element_ops.h"

#include "cc/base/pooled_tensor.h"
#include "cc/device/functors.h"
#include "cc/device/functors_gpu.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/util/work_sharder.h"
#include "xla/stream_executor/stream.h"

namespace tensor_array_grad {
namespace {

// Objects (strings, variants) are in host memory wherever their kernel runs.
bool InDeviceMemory(OpKernelContext* ctx, const Tensor& tensor) {
  return OnGpu(ctx) && tensorflow::DataTypeCanUseMemcpy(tensor.dtype());
}

// Calls work(queue) with the queue of the kernel's GPU.
template <typename Work>
absl::Status OnQueue(OpKernelContext* ctx, Work work) {
  tensorflow::DeviceContext* const device = ctx->op_device_context();
  if (device == nullptr || device->stream() == nullptr) {
    return absl::InternalError("the GPU that a tensor_array_grad kernel runs on has no stream");
  }
  const auto allocate = [ctx](int64_t bytes, Tensor* room) {
    return ctx->allocate_temp(tensorflow::DT_UINT8, TensorShape({bytes}), room);
  };
  return work(gpu::Queue{device->stream()->platform_specific_handle().stream, allocate});
}

}  // namespace

void IntraOpPool::operator()(int64_t total, int64_t cost, cpu::Work work) const {
  constexpr int64_t kWorthSharing = 32768;
  if (total * cost < kWorthSharing) return work(0, total);
  const auto& workers = *ctx_->device()->tensorflow_cpu_worker_threads();
  tensorflow::Shard(workers.num_threads, workers.workers, total, cost, work);
}

bool OnGpu(OpKernelContext* ctx) {
  return ctx->device()->attributes().device_type() == tensorflow::DEVICE_GPU;
}

absl::Status DeviceElementOps::Allocate(DataType dtype, const TensorShape& shape, Tensor* out) {
  if (!OnGpu(ctx_) && MakePooledTensor(dtype, shape, out)) return absl::OkStatus();
  tensorflow::AllocatorAttributes attributes;
  attributes.set_on_host(!tensorflow::DataTypeCanUseMemcpy(dtype));
  return ctx_->allocate_temp(dtype, shape, out, attributes);
}

absl::Status DeviceElementOps::Zero(Tensor* out) {
  if (InDeviceMemory(ctx_, *out)) {
    return OnQueue(ctx_, [&](const gpu::Queue& queue) { return gpu::Zero(queue, out); });
  }
  cpu::Zero(IntraOpPool(ctx_), out);
  return absl::OkStatus();
}

absl::Status DeviceElementOps::Add(const Tensor& left, const Tensor& right, Tensor* out) {
  if (InDeviceMemory(ctx_, *out)) {
    return OnQueue(ctx_,
                   [&](const gpu::Queue& queue) { return gpu::Add(left, right, queue, out); });
  }
  cpu::Add(left, right, IntraOpPool(ctx_), out);
  return absl::OkStatus();
}

absl::Status DeviceElementOps::Pack(absl::Span<const Piece> pieces, Tensor* out) {
  if (InDeviceMemory(ctx_, *out)) {
    return OnQueue(ctx_, [&](const gpu::Queue& queue) { return gpu::Pack(pieces, queue, out); });
  }
  cpu::Pack(pieces, IntraOpPool(ctx_), out);
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
