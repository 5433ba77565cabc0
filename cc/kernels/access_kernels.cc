// TensorArrayWriteV3 and TensorArrayReadV3.

#include "cc/core/tensorflow_names.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/kernel_names.h"
#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"

namespace tensor_array_grad {
namespace {

// Writes one element, or adds to it.
class WriteOp : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* ctx) override {
    int64_t index;
    OP_REQUIRES_OK(ctx, GetIndex(ctx, kIndex, &index));
    ArrayRef array;
    OP_REQUIRES_OK(ctx, LookupArray(ctx, kHandle, &array));
    ArrayStore& store = array->store();
    OP_REQUIRES_OK(ctx, store.CheckWriteDtype(ctx->input_dtype(kValue)));
    Tensor value = ctx->input(kValue);
    const bool exclusive = store.accumulates() && TakeBuffer(ctx, &value);
    DeviceElementOps ops(ctx);
    OP_REQUIRES_OK(ctx, store.Write(index, std::move(value), exclusive, ops));
    ForwardFlow(ctx, kFlowIn, kFlowOut);
  }

  bool IsExpensive() override { return false; }

 private:
  enum Inputs { kHandle, kIndex, kValue, kFlowIn };
  enum Outputs { kFlowOut };

  // Takes over the input's buffer if no other tensor shares it, so that the store can sum in it.
  // Returns whether it did. `value` is the input's tensor in either case.
  static bool TakeBuffer(OpKernelContext* ctx, Tensor* value) {
    const tensorflow::TensorShape shape = value->shape();
    const tensorflow::DataType dtype = value->dtype();
    *value = Tensor();  // else `value` would be a second reference
    const std::unique_ptr<Tensor> taken =
        ctx->forward_input(kValue, OpKernelContext::Params::kNoReservation, dtype, shape,
                           tensorflow::DEVICE_MEMORY, tensorflow::AllocatorAttributes());
    *value = taken != nullptr ? *taken : ctx->input(kValue);
    return taken != nullptr;
  }
};

// Outputs one element.
class ReadOp : public OpKernel {
 public:
  explicit ReadOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("dtype", &dtype_));
  }

  void Compute(OpKernelContext* ctx) override {
    int64_t index;
    OP_REQUIRES_OK(ctx, GetIndex(ctx, kIndex, &index));
    ArrayRef array;
    OP_REQUIRES_OK(ctx, LookupArray(ctx, kHandle, &array));
    OP_REQUIRES_OK(ctx, array->store().CheckReadDtype(dtype_));
    DeviceElementOps ops(ctx);
    Tensor value;
    OP_REQUIRES_OK(ctx, array->store().Read(index, ops, &value));
    ctx->set_output(kValue, std::move(value));
  }

  bool IsExpensive() override { return false; }

 private:
  enum Inputs { kHandle, kIndex, kFlowIn };
  enum Outputs { kValue };
  tensorflow::DataType dtype_;
};

}  // namespace

KernelTable AccessKernels() {
  return {{"TensorArrayWriteV3", MakeKernel<WriteOp>, {"handle", "index"}, GpuNumbers("T")},
          {"TensorArrayReadV3",
           MakeKernel<ReadOp>,
           {"handle", "index"},
           GpuNumbers("dtype", {tensorflow::DT_INT64})}};
}

}  // namespace tensor_array_grad
