// TensorArrayGradV3 and TensorArrayGradWithShape.

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cc/core/errors.h"
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

// Whether TensorFlow's gradient functions made `source` for an op that an earlier tf.gradients call
// added: "gradients_1/gradients". They use "gradients_1" for other ops of the same calculation, so
// the gradients of one array end up in two. The functions of `enable()` use one source.
bool NamesTwoCalculations(absl::string_view source) {
  int calculations = 0;
  for (const absl::string_view part : absl::StrSplit(source, '/')) {
    if (absl::StartsWith(part, "gradients")) ++calculations;
  }
  return calculations > 1;
}

// Finds, or makes once per `source`, the array that sums the gradients of `handle`.
class GradOp : public OpKernel {
 public:
  explicit GradOp(OpKernelConstruction* ctx) : OpKernel(ctx), flow_(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("source", &source_));
    names_two_calculations_ = NamesTwoCalculations(source_);
  }

  void Compute(OpKernelContext* ctx) override {
    ArrayRef forward;
    OP_REQUIRES_OK(ctx, LookupArray(ctx, kHandle, &forward));
    OP_REQUIRES(ctx, !names_two_calculations_ || !forward->store().accumulates(),
                errors::SourceOfTwoCalculations(forward->store().name(), source_));
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
  bool names_two_calculations_ = false;
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
