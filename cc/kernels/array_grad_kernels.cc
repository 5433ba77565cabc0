// TensorArrayGradV3 and TensorArrayGradWithShape.

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "cc/array/errors.h"
#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"
#include "tensorflow/core/framework/tensor_util.h"

namespace tensor_array_grad {
namespace {

// Whether TensorFlow's gradient functions made `source`, and not those of `enable()`. TensorFlow's
// use several sources for one second derivative, such as "gradients_1" and "gradients_1/gradients".
// A part of the derivative would then be summed in an array that no op reads. GradOp therefore
// rejects such a source for a gradient array of a gradient array. Stock rejects every gradient
// array of a gradient array.
bool MayBeOneOfSeveral(absl::string_view source) {
  constexpr absl::string_view kMark = "gradients.one_source";           // MARK in gradients_v3.py
  const absl::string_view last = source.substr(source.rfind('/') + 1);  // all, if there is no '/'
  return absl::StartsWith(last, "gradients") && last != kMark;
}

// Finds, or makes once per `source`, the array that sums the gradients of `handle`. These have the
// dimensions in `shape_to_prepend`, an input of TensorArrayGradWithShape, in front of each
// element's.
class GradOp : public Cheap<OpKernel> {
 public:
  explicit GradOp(OpKernelConstruction* ctx) : Cheap(ctx), flow_(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("source", &source_));
    may_be_one_of_several_ = MayBeOneOfSeveral(source_);
  }

  void Compute(OpKernelContext* ctx) override {
    ArrayRef forward;
    OP_REQUIRES_OK(ctx, Lookup(ctx, kHandle, &forward));
    OP_REQUIRES(
        ctx, !may_be_one_of_several_ || !forward->store().accumulates(),
        errors::Invalid(
            forward->store().name(),
            "Cannot make a gradient array of this gradient array with source \"", source_,
            "\": TensorFlow's gradient functions use several sources for one second derivative, "
            "and a part of it would be lost. Call tensor_array_grad.enable() before the graph "
            "is built. If you call the op yourself, use a source with another last component."));
    TensorShape prefix;
    if (ctx->num_inputs() > kShapeToPrepend) {
      OP_REQUIRES_OK(ctx, tensorflow::tensor::MakeShape(ctx->input(kShapeToPrepend), &prefix));
    }
    Tensor handle;
    OP_REQUIRES_OK(ctx, forward->FindOrCreateGrad(source_, prefix, &handle));
    ctx->set_output(kGradHandle, std::move(handle));
    OP_REQUIRES_OK(ctx, flow_.Output(ctx, kFlowOut));
  }

 private:
  enum Inputs { kHandle, kFlowIn, kShapeToPrepend };
  enum Outputs { kGradHandle, kFlowOut };
  std::string source_;
  bool may_be_one_of_several_ = false;
  FirstFlow flow_;
};

}  // namespace

KernelTable GradKernels() {
  return {{ops::kTensorArrayGradV3, MakeKernel<GradOp>, {"handle", "grad_handle"}},
          {ops::kTensorArrayGradWithShape,
           MakeKernel<GradOp>,
           {"handle", "shape_to_prepend", "grad_handle"}}};
}

}  // namespace tensor_array_grad
