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
  if (shape.dims() != 1) return errors::IndicesNotVector(store.name(), shape);
  *indices = Values<int32_t>(ctx, input);
  return absl::OkStatus();
}

// Stacks elements.
class GatherOp : public ArrayKernel {
 public:
  explicit GatherOp(OpKernelConstruction* ctx) : ArrayKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("dtype", &dtype_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("element_shape", &element_shape_));
  }

 protected:
  absl::Status Run(OpKernelContext* ctx, ArrayStore& store) override {
    TF_RETURN_IF_ERROR(store.CheckReadDtype(dtype_));
    absl::Span<const int32_t> indices;
    TF_RETURN_IF_ERROR(GetIndices(ctx, kIndices, store, &indices));
    DeviceElementOps ops(ctx);
    Tensor value;
    TF_RETURN_IF_ERROR(store.Gather(indices, element_shape_, ops, &value));
    ctx->set_output(kValue, std::move(value));
    return absl::OkStatus();
  }

 private:
  enum Inputs { kHandle, kIndices, kFlowIn };
  enum Outputs { kValue };
  DataType dtype_;
  PartialTensorShape element_shape_;
};

// Unstacks a value into elements.
absl::Status Scatter(OpKernelContext* ctx, ArrayStore& store) {
  enum Inputs { kHandle, kIndices, kValue, kFlowIn };
  const Tensor& value = ctx->input(kValue);
  TF_RETURN_IF_ERROR(store.CheckWriteDtype(value.dtype()));
  absl::Span<const int32_t> indices;
  TF_RETURN_IF_ERROR(GetIndices(ctx, kIndices, store, &indices));
  DeviceElementOps ops(ctx);
  TF_RETURN_IF_ERROR(store.Scatter(indices, value, ops));
  ForwardFlow(ctx, kFlowIn, 0);
  return absl::OkStatus();
}

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
  DataType dtype_;
  PartialTensorShape element_shape_except0_;
};

// Cuts a value into elements along its first dimension.
absl::Status Split(OpKernelContext* ctx, ArrayStore& store) {
  enum Inputs { kHandle, kValue, kLengths, kFlowIn };
  const Tensor& lengths = ctx->input(kLengths);
  if (lengths.dims() != 1) return errors::LengthsNotVector(store.name(), lengths.shape());
  const Tensor& value = ctx->input(kValue);
  TF_RETURN_IF_ERROR(store.CheckWriteDtype(value.dtype()));
  DeviceElementOps ops(ctx);
  TF_RETURN_IF_ERROR(store.Split(value, Values<int64_t>(ctx, kLengths), ops));
  ForwardFlow(ctx, kFlowIn, 0);
  return absl::OkStatus();
}

}  // namespace

KernelTable BulkKernels() {
  const GpuTypes read = GpuNumbers("dtype", {DT_INT32});
  const GpuTypes cut = GpuNumbers("T", {DT_INT64}), split = GpuNumbers("T");
  return {
      {"TensorArrayGatherV3", MakeKernel<GatherOp>, {"handle", "indices"}, read},
      {"TensorArrayScatterV3", MakeKernel<ArrayFunction<Scatter>>, {"handle", "indices"}, cut},
      {"TensorArrayConcatV3", MakeKernel<ConcatOp>, {"handle", "lengths"}, read},
      {"TensorArraySplitV3", MakeKernel<ArrayFunction<Split>>, {"handle", "lengths"}, split},
  };
}

}  // namespace tensor_array_grad
