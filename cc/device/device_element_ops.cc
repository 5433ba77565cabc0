#include "cc/device/device_element_ops.h"

#include "cc/device/functors.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/util/work_sharder.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataType;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// A cpu::ParallelFor over the device's intra-op pool.
class IntraOpPool {
 public:
  explicit IntraOpPool(tensorflow::OpKernelContext* ctx) : ctx_(ctx) {}

  void operator()(int64_t total, int64_t cost, cpu::Work work) const {
    // What is done sooner than a thread wakes up is done here.
    constexpr int64_t kWorthSharing = 32768;
    if (total * cost < kWorthSharing) return work(0, total);
    const auto& workers = *ctx_->device()->tensorflow_cpu_worker_threads();
    tensorflow::Shard(workers.num_threads, workers.workers, total, cost, work);
  }

 private:
  tensorflow::OpKernelContext* const ctx_;
};

}  // namespace

absl::Status CpuElementOps::Allocate(DataType dtype, const TensorShape& shape, Tensor* out) {
  return ctx_->allocate_temp(dtype, shape, out);
}

absl::Status CpuElementOps::Zero(Tensor* out) {
  cpu::Zero(IntraOpPool(ctx_), out);
  return absl::OkStatus();
}

absl::Status CpuElementOps::AddInto(const Tensor& addend, Tensor* sum) {
  return Add(*sum, addend, sum);
}

absl::Status CpuElementOps::Add(const Tensor& left, const Tensor& right, Tensor* out) {
  cpu::Add(left, right, IntraOpPool(ctx_), out);
  return absl::OkStatus();
}

absl::Status CpuElementOps::Pack(absl::Span<const Piece> pieces, Tensor* out) {
  cpu::Pack(pieces, IntraOpPool(ctx_), out);
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
