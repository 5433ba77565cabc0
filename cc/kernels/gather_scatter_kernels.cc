// TensorArrayGatherV3 and TensorArrayScatterV3.

#include "cc/core/errors.h"
#include "cc/core/tensorflow_names.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/kernel_names.h"
#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"

namespace tensor_array_grad {
namespace {

// Stacks elements.
class GatherOp : public OpKernel {
 public:
  explicit GatherOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("dtype", &dtype_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("element_shape", &element_shape_));
  }

  void Compute(OpKernelContext* ctx) override {
    ArrayRef array;
    OP_REQUIRES_OK(ctx, LookupArray(ctx, kHandle, &array));
    ArrayStore& store = array->store();
    OP_REQUIRES_OK(ctx, store.CheckReadDtype(dtype_));
    const Tensor& indices = ctx->input(kIndices);
    OP_REQUIRES(ctx, indices.dims() == 1, errors::IndicesNotVector(store.name(), indices.shape()));
    DeviceElementOps ops(ctx);
    Tensor value;
    OP_REQUIRES_OK(ctx, store.Gather(Values<int32_t>(ctx, kIndices), element_shape_, ops, &value));
    ctx->set_output(kValue, std::move(value));
  }

 private:
  enum Inputs { kHandle, kIndices, kFlowIn };
  enum Outputs { kValue };
  tensorflow::DataType dtype_;
  tensorflow::PartialTensorShape element_shape_;
};

// Unstacks a value into elements.
class ScatterOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* ctx) override {
    ArrayRef array;
    OP_REQUIRES_OK(ctx, LookupArray(ctx, kHandle, &array));
    ArrayStore& store = array->store();
    const Tensor& value = ctx->input(kValue);
    OP_REQUIRES_OK(ctx, store.CheckWriteDtype(value.dtype()));
    const Tensor& indices = ctx->input(kIndices);
    OP_REQUIRES(ctx, indices.dims() == 1, errors::IndicesNotVector(store.name(), indices.shape()));
    DeviceElementOps ops(ctx);
    OP_REQUIRES_OK(ctx, store.Scatter(Values<int32_t>(ctx, kIndices), value, ops));
    ForwardFlow(ctx, kFlowIn, kFlowOut);
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
