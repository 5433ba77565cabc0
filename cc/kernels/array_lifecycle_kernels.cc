// TensorArrayV3, TensorArraySizeV3 and TensorArrayCloseV3.

#include "cc/array/array_name.h"
#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"

namespace tensor_array_grad {
namespace {

class CreateOp : public Cheap<OpKernel> {
 public:
  explicit CreateOp(OpKernelConstruction* ctx) : Cheap(ctx), flow_(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("dtype", &options_.dtype));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("element_shape", &options_.element_shape));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("dynamic_size", &options_.dynamic_size));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("clear_after_read", &options_.clear_after_read));
    OP_REQUIRES_OK(ctx,
                   ctx->GetAttr("identical_element_shapes", &options_.identical_element_shapes));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("tensor_array_name", &base_name_));
    if (base_name_.empty()) base_name_ = name();
  }

  void Compute(OpKernelContext* ctx) override {
    const Tensor& size = ctx->input(kSize);
    OP_REQUIRES(
        ctx, size.dims() == 0,
        Invalid("TensorArray size must be scalar, but had shape: ", size.shape().DebugString()));
    ArrayOptions options = options_;
    options.size = *DataOf<int32_t>(size);
    OP_REQUIRES(ctx, options.size >= 0, Invalid("Size should be >= 0. Got: ", options.size));
    Tensor handle;
    ArrayResource::Create(PlaceOf(ctx), NewForwardName(base_name_), std::move(options), &handle);
    ctx->set_output(kHandle, std::move(handle));
    OP_REQUIRES_OK(ctx, flow_.Output(ctx, kFlow));
  }

 private:
  enum Inputs { kSize };
  enum Outputs { kHandle, kFlow };
  ArrayOptions options_;
  std::string base_name_;
  FirstFlow flow_;
};

absl::Status Size(OpKernelContext* ctx) {
  ArrayRef array;
  TF_RETURN_IF_ERROR(Lookup(ctx, 0, &array));
  int64_t size;
  TF_RETURN_IF_ERROR(array->store().Size(&size));
  Tensor* output = nullptr;
  TF_RETURN_IF_ERROR(ctx->allocate_output(0, {}, &output));
  output->scalar<int32_t>()() = static_cast<int32_t>(size);
  return absl::OkStatus();
}

// Frees all elements now, even if other handles refer to the array.
absl::Status Close(OpKernelContext* ctx) {
  ArrayRef array;
  TF_RETURN_IF_ERROR(Lookup(ctx, 0, &array));
  array->store().Close();
  return absl::OkStatus();
}

}  // namespace

KernelTable LifecycleKernels() {
  return {{ops::kTensorArrayV3,
           MakeKernel<CreateOp>,
           {"size", "handle"},
           GpuNumbers("dtype", {DT_INT64})},
          {ops::kTensorArraySizeV3, MakeKernel<Cheap<FunctionKernel<Size>>>, {"handle", "size"}},
          {ops::kTensorArrayCloseV3, MakeKernel<FunctionKernel<Close>>, {"handle"}}};
}

}  // namespace tensor_array_grad
