#ifndef CC_TESTING_FAKE_ELEMENT_OPS_H_
#define CC_TESTING_FAKE_ELEMENT_OPS_H_

#include <atomic>
#include <functional>

#include "cc/base/element_ops.h"
#include "cc/device/functors.h"

namespace tensor_array_grad {

// An ElementOps without a kernel: computes on the calling thread, counts calls, and can fail
// (`allocations_left`) or block (`before_add`). Test-only.
class FakeElementOps : public ElementOps {
 public:
  absl::Status Allocate(tensorflow::DataType dtype, const tensorflow::TensorShape& shape,
                        tensorflow::Tensor* out) override {
    if (allocations_left.fetch_sub(1) <= 0) return absl::ResourceExhaustedError("no memory left");
    ++allocations;
    *out = tensorflow::Tensor(dtype, shape);
    return absl::OkStatus();
  }
  absl::Status Zero(tensorflow::Tensor* out) override {
    cpu::Zero(cpu::OnThisThread, out);
    return absl::OkStatus();
  }
  absl::Status Add(const tensorflow::Tensor& left, const tensorflow::Tensor& right,
                   tensorflow::Tensor* out) override {
    if (before_add) before_add();
    ++adds;
    cpu::Add(left, right, cpu::OnThisThread, out);
    return absl::OkStatus();
  }
  absl::Status Pack(absl::Span<const Piece> pieces, tensorflow::Tensor* out) override {
    ++packs;
    pieces_packed += static_cast<int64_t>(pieces.size());
    cpu::Pack(pieces, cpu::OnThisThread, out);
    return absl::OkStatus();
  }

  bool on_gpu() const override { return gpu; }

  bool gpu = false;
  std::atomic<int64_t> allocations{0}, adds{0}, packs{0}, pieces_packed{0};
  std::atomic<int64_t> allocations_left{int64_t{1} << 40};
  std::function<void()> before_add;
};

}  // namespace tensor_array_grad

#endif  // CC_TESTING_FAKE_ELEMENT_OPS_H_
