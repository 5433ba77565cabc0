// TensorArrayGatherV3 and TensorArrayScatterV3.

#include "cc/array/errors.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/kernel_names.h"
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
  tensorflow::DataType dtype_;
  tensorflow::PartialTensorShape element_shape_;
};

// Unstacks a value into elements.
class ScatterOp : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx, ArrayStore& store) override {
    const Tensor& value = ctx->input(kValue);
    TF_RETURN_IF_ERROR(store.CheckWriteDtype(value.dtype()));
    absl::Span<const int32_t> indices;
    TF_RETURN_IF_ERROR(GetIndices(ctx, kIndices, store, &indices));
    DeviceElementOps ops(ctx);
    TF_RETURN_IF_ERROR(store.Scatter(indices, value, ops));
    ForwardFlow(ctx, kFlowIn, kFlowOut);
    return absl::OkStatus();
  }

 private:
  enum Inputs { kHandle, kIndices, kValue, kFlowIn };
  enum Outputs { kFlowOut };
};

}  // namespace

KernelTable GatherScatterKernels() {
  return {{"TensorArrayGatherV3",
           MakeKernel<GatherOp>,
           {"handle", "indices"},
           GpuNumbers("dtype", {tensorflow::DT_INT32})},
          {"TensorArrayScatterV3",
           MakeKernel<ScatterOp>,
           {"handle", "indices"},
           GpuNumbers("T", {tensorflow::DT_INT64})}};
}

}  // namespace tensor_array_grad
