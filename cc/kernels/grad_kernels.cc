// TensorArrayGradV3 and TensorArrayGradWithShape.

#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"
#include "tensorflow/core/framework/tensor_util.h"

namespace tensor_array_grad {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// Finds, or makes once per `source`, the array that sums the gradients of `handle`.
class GradOp : public OpKernel {
 public:
  explicit GradOp(OpKernelConstruction* ctx) : OpKernel(ctx), flow_(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("source", &source_));
  }

  void Compute(OpKernelContext* ctx) override {
    ArrayRef forward;
    OP_REQUIRES_OK(ctx, LookupArray(ctx, kHandle, &forward));
    TensorShape prefix;
    OP_REQUIRES_OK(ctx, GetPrefix(ctx, &prefix));
    Tensor handle;
    OP_REQUIRES_OK(ctx, forward->FindOrCreateGrad(source_, prefix, &handle));
    ctx->set_output(kGradHandle, std::move(handle));
    OP_REQUIRES_OK(ctx, flow_.Output(ctx, kFlowOut));
  }

  bool IsExpensive() override { return false; }

 protected:
  enum Inputs { kHandle, kFlowIn, kShapeToPrepend };
  enum Outputs { kGradHandle, kFlowOut };

  // The dimensions in front of each element's shape.
  virtual absl::Status GetPrefix(OpKernelContext*, TensorShape*) const { return absl::OkStatus(); }

 private:
  std::string source_;
  FirstFlow flow_;
};

// The same, for gradients with more dimensions than the elements have.
class GradWithShapeOp : public GradOp {
 public:
  using GradOp::GradOp;

 protected:
  absl::Status GetPrefix(OpKernelContext* ctx, TensorShape* prefix) const override {
    return tensorflow::tensor::MakeShape(ctx->input(kShapeToPrepend), prefix);
  }
};

}  // namespace

KernelTable GradKernels() {
  return {{"TensorArrayGradV3", MakeKernel<GradOp>, {"handle", "grad_handle"}},
          {"TensorArrayGradWithShape",
           MakeKernel<GradWithShapeOp>,
           {"handle", "shape_to_prepend", "grad_handle"}}};
}

}  // namespace tensor_array_grad
