#ifndef CC_DEVICE_DEVICE_ELEMENT_OPS_H_
#define CC_DEVICE_DEVICE_ELEMENT_OPS_H_

#include "cc/core/element_ops.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {

// The ElementOps of a kernel on the CPU: allocates through the kernel's context and computes on the
// calling thread and the device's intra-op pool. Lives no longer than the context.
class CpuElementOps : public ElementOps {
 public:
  explicit CpuElementOps(tensorflow::OpKernelContext* ctx) : ctx_(ctx) {}

  absl::Status Allocate(tensorflow::DataType dtype, const tensorflow::TensorShape& shape,
                        tensorflow::Tensor* out) override;
  absl::Status Zero(tensorflow::Tensor* out) override;
  absl::Status AddInto(const tensorflow::Tensor& addend, tensorflow::Tensor* sum) override;
  absl::Status Add(const tensorflow::Tensor& left, const tensorflow::Tensor& right,
                   tensorflow::Tensor* out) override;
  absl::Status Pack(absl::Span<const Piece> pieces, tensorflow::Tensor* out) override;

 private:
  tensorflow::OpKernelContext* const ctx_;
};

}  // namespace tensor_array_grad

#endif  // CC_DEVICE_DEVICE_ELEMENT_OPS_H_
