// TensorArrayConcatV3 and TensorArraySplitV3.

#include <algorithm>

#include "cc/array/errors.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/kernel_names.h"
#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"

namespace tensor_array_grad {
namespace {

// Joins the elements along their first dimension.
class ConcatOp : public ArrayKernel {
 public:
  explicit ConcatOp(OpKernelConstruction* ctx) : ArrayKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("dtype", &dtype_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("element_shape_except0", &element_shape_except0_));
  }

 protected:
  absl::Status Run(OpKernelContext* ctx, ArrayStore& store) override {
    TF_RETURN_IF_ERROR(store.CheckReadDtype(dtype_));
    DeviceElementOps ops(ctx);
    Tensor value;
    std::vector<int64_t> lengths;
    TF_RETURN_IF_ERROR(store.Concat(element_shape_except0_, ops, &value, &lengths));
    Tensor* lengths_out = nullptr;
    const auto count = static_cast<int64_t>(lengths.size());
    TF_RETURN_IF_ERROR(ctx->allocate_output(kLengths, {count}, &lengths_out));
    std::copy(lengths.begin(), lengths.end(), lengths_out->flat<int64_t>().data());
    ctx->set_output(kValue, std::move(value));
    return absl::OkStatus();
  }

 private:
  enum Inputs { kHandle, kFlowIn };
  enum Outputs { kValue, kLengths };
  tensorflow::DataType dtype_;
  tensorflow::PartialTensorShape element_shape_except0_;
};

// Cuts a value into elements along its first dimension.
class SplitOp : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx, ArrayStore& store) override {
    const Tensor& lengths = ctx->input(kLengths);
    if (lengths.dims() != 1) return errors::LengthsNotVector(store.name(), lengths.shape());
    const Tensor& value = ctx->input(kValue);
    TF_RETURN_IF_ERROR(store.CheckWriteDtype(value.dtype()));
    DeviceElementOps ops(ctx);
    TF_RETURN_IF_ERROR(store.Split(value, Values<int64_t>(ctx, kLengths), ops));
    ForwardFlow(ctx, kFlowIn, kFlowOut);
    return absl::OkStatus();
  }

 private:
  enum Inputs { kHandle, kValue, kLengths, kFlowIn };
  enum Outputs { kFlowOut };
};

}  // namespace

KernelTable ConcatSplitKernels() {
  return {{"TensorArrayConcatV3",
           MakeKernel<ConcatOp>,
           {"handle", "lengths"},
           GpuNumbers("dtype", {tensorflow::DT_INT32})},
          {"TensorArraySplitV3", MakeKernel<SplitOp>, {"handle", "lengths"}, GpuNumbers("T")}};
}

}  // namespace tensor_array_grad
