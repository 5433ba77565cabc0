// TensorArrayGatherV3, ScatterV3, ConcatV3 and SplitV3.

#include <algorithm>

#include "cc/array/errors.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"

namespace tensor_array_grad {
namespace {

// Sets `indices` to the values of the int32 input `input`, in host memory. Returns an error, for
// the array `store`, if the input is not a vector.
absl::Status GetIndices(OpKernelContext* ctx, int input, const ArrayStore& store,
                        absl::Span<const int32_t>* indices) {
  const TensorShape& shape = ctx->input(input).shape();
  if (shape.dims() != 1) {
    return errors::Invalid(
        store.name(), "Expected indices to be a vector, but received shape: ", shape.DebugString());
  }
  *indices = Values<int32_t>(ctx, input);
  return absl::OkStatus();
}

// Stacks elements.
class GatherOp : public OpKernel {
 public:
  explicit GatherOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("element_shape", &element_shape_));
  }

  void Compute(OpKernelContext* ctx) override {
    ArrayRef array;
    OP_REQUIRES_OK(ctx, Lookup(ctx, kHandle, &array));
    ArrayStore& store = array->store();
    OP_REQUIRES_OK(ctx, store.CheckReadDtype(ctx->expected_output_dtype(kValue)));
    absl::Span<const int32_t> indices;
    OP_REQUIRES_OK(ctx, GetIndices(ctx, kIndices, store, &indices));
    DeviceElementOps ops(ctx);
    Tensor value;
    OP_REQUIRES_OK(ctx, store.Gather(indices, element_shape_, ops, &value));
    ctx->set_output(kValue, std::move(value));
  }

 private:
  enum Inputs { kHandle, kIndices };
  enum Outputs { kValue };
  PartialTensorShape element_shape_;
};

// Unstacks a value into elements.
absl::Status Scatter(OpKernelContext* ctx) {
  enum Inputs { kHandle, kIndices, kValue, kFlowIn };
  ArrayRef array;
  TF_RETURN_IF_ERROR(Lookup(ctx, kHandle, &array));
  ArrayStore& store = array->store();
  const Tensor& value = ctx->input(kValue);
  TF_RETURN_IF_ERROR(store.CheckWriteDtype(value.dtype()));
  absl::Span<const int32_t> indices;
  TF_RETURN_IF_ERROR(GetIndices(ctx, kIndices, store, &indices));
  DeviceElementOps ops(ctx);
  TF_RETURN_IF_ERROR(store.Scatter(indices, value, ops));
  ctx->set_output(0, ctx->input(kFlowIn));
  return absl::OkStatus();
}

// Joins the elements along their first dimension.
class ConcatOp : public OpKernel {
 public:
  explicit ConcatOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("element_shape_except0", &element_shape_except0_));
  }

  void Compute(OpKernelContext* ctx) override {
    ArrayRef array;
    OP_REQUIRES_OK(ctx, Lookup(ctx, 0, &array));
    ArrayStore& store = array->store();
    OP_REQUIRES_OK(ctx, store.CheckReadDtype(ctx->expected_output_dtype(kValue)));
    DeviceElementOps ops(ctx);
    Tensor value;
    std::vector<int64_t> lengths;
    OP_REQUIRES_OK(ctx, store.Concat(element_shape_except0_, ops, &value, &lengths));
    Tensor* lengths_out = nullptr;
    const auto count = static_cast<int64_t>(lengths.size());
    OP_REQUIRES_OK(ctx, ctx->allocate_output(kLengths, {count}, &lengths_out));
    std::copy(lengths.begin(), lengths.end(), lengths_out->flat<int64_t>().data());
    ctx->set_output(kValue, std::move(value));
  }

 private:
  enum Outputs { kValue, kLengths };
  PartialTensorShape element_shape_except0_;
};

// Cuts a value into elements along its first dimension.
absl::Status Split(OpKernelContext* ctx) {
  enum Inputs { kHandle, kValue, kLengths, kFlowIn };
  ArrayRef array;
  TF_RETURN_IF_ERROR(Lookup(ctx, kHandle, &array));
  ArrayStore& store = array->store();
  const Tensor& lengths = ctx->input(kLengths);
  if (lengths.dims() != 1) {
    return errors::Invalid(store.name(), "Expected lengths to be a vector, received shape: ",
                           lengths.shape().DebugString());
  }
  const Tensor& value = ctx->input(kValue);
  TF_RETURN_IF_ERROR(store.CheckWriteDtype(value.dtype()));
  DeviceElementOps ops(ctx);
  TF_RETURN_IF_ERROR(store.Split(value, Values<int64_t>(ctx, kLengths), ops));
  ctx->set_output(0, ctx->input(kFlowIn));
  return absl::OkStatus();
}

}  // namespace

KernelTable BulkKernels() {
  const GpuTypes read = GpuNumbers("dtype", {DT_INT32});
  const GpuTypes cut = GpuNumbers("T", {DT_INT64}), split = GpuNumbers("T");
  return {
      {ops::kTensorArrayGatherV3, MakeKernel<GatherOp>, {"handle", "indices"}, read},
      {ops::kTensorArrayScatterV3, MakeKernel<FunctionKernel<Scatter>>, {"handle", "indices"}, cut},
      {ops::kTensorArrayConcatV3, MakeKernel<ConcatOp>, {"handle", "lengths"}, read},
      {ops::kTensorArraySplitV3, MakeKernel<FunctionKernel<Split>>, {"handle", "lengths"}, split},
  };
}

}  // namespace tensor_array_grad
