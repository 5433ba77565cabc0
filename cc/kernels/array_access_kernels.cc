// TensorArrayWriteV3 and TensorArrayReadV3.

#include "cc/device/device_element_ops.h"
#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"

namespace tensor_array_grad {
namespace {

// The base of kernels for one element, whose inputs begin with a handle and an index. Compute reads
// both, the index first, and calls RunAt.
class ElementKernel : public Cheap<OpKernel> {
 public:
  using Cheap::Cheap;

  void Compute(OpKernelContext* ctx) override {
    int64_t index = 0;
    OP_REQUIRES_OK(ctx, GetIndex(ctx, kIndex, &index));
    ArrayRef array;
    OP_REQUIRES_OK(ctx, Lookup(ctx, kHandle, &array));
    OP_REQUIRES_OK(ctx, RunAt(ctx, array->store(), index));
  }

 protected:
  enum Inputs { kHandle, kIndex, kFirstOfItsOwn };

  virtual absl::Status RunAt(OpKernelContext* ctx, ArrayStore& store, int64_t index) = 0;
};

// Writes one element, or adds to it.
class WriteOp : public ElementKernel {
 public:
  using ElementKernel::ElementKernel;

 protected:
  absl::Status RunAt(OpKernelContext* ctx, ArrayStore& store, int64_t index) override {
    TF_RETURN_IF_ERROR(store.CheckWriteDtype(ctx->input_dtype(kValue)));
    Tensor value = ctx->input(kValue);
    const bool exclusive = store.accumulates() && TakeBuffer(ctx, &value);
    DeviceElementOps ops(ctx);
    TF_RETURN_IF_ERROR(store.Write(index, std::move(value), exclusive, ops));
    ForwardFlow(ctx, kFlowIn, kFlowOut);
    return absl::OkStatus();
  }

 private:
  enum Inputs { kValue = kFirstOfItsOwn, kFlowIn };
  enum Outputs { kFlowOut };

  // Takes over the input's buffer if no other tensor shares it, so that the store can sum in it.
  // Returns whether it did. `value` is the input's tensor in either case.
  static bool TakeBuffer(OpKernelContext* ctx, Tensor* value) {
    const TensorShape shape = value->shape();
    const DataType dtype = value->dtype();
    *value = Tensor();  // else `value` would be a second reference
    const std::unique_ptr<Tensor> taken =
        ctx->forward_input(kValue, OpKernelContext::Params::kNoReservation, dtype, shape,
                           tensorflow::DEVICE_MEMORY, tensorflow::AllocatorAttributes());
    *value = taken != nullptr ? *taken : ctx->input(kValue);
    return taken != nullptr;
  }
};

// Outputs one element.
class ReadOp : public ElementKernel {
 public:
  explicit ReadOp(OpKernelConstruction* ctx) : ElementKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("dtype", &dtype_));
  }

 protected:
  absl::Status RunAt(OpKernelContext* ctx, ArrayStore& store, int64_t index) override {
    TF_RETURN_IF_ERROR(store.CheckReadDtype(dtype_));
    DeviceElementOps ops(ctx);
    Tensor value;
    TF_RETURN_IF_ERROR(store.Read(index, ops, &value));
    ctx->set_output(kValue, std::move(value));
    return absl::OkStatus();
  }

 private:
  enum Outputs { kValue };
  DataType dtype_;
};

}  // namespace

KernelTable AccessKernels() {
  const GpuTypes written = GpuNumbers("T"), read = GpuNumbers("dtype", {DT_INT64});
  return {{"TensorArrayWriteV3", MakeKernel<WriteOp>, {"handle", "index"}, written},
          {"TensorArrayReadV3", MakeKernel<ReadOp>, {"handle", "index"}, read}};
}

}  // namespace tensor_array_grad
