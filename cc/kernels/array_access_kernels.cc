// TensorArrayWriteV3 and TensorArrayReadV3.

#include "cc/device/device_element_ops.h"
#include "cc/kernels/kernel_util.h"
#include "cc/kernels/registration.h"

namespace tensor_array_grad {
namespace {

// Reads the inputs with which both ops begin. A bad index is reported before a bad handle.
absl::Status GetSlot(OpKernelContext* ctx, ArrayRef* array, int64_t* index) {
  enum Inputs { kHandle, kIndex };
  const Tensor& tensor = ctx->input(kIndex);
  if (tensor.dims() != 0) {
    return Invalid("TensorArray index must be scalar, but had shape: ",
                   tensor.shape().DebugString());
  }
  *index = *DataOf<int32_t>(tensor);
  return Lookup(ctx, kHandle, array);
}

// Takes over the buffer of input `input` if no other tensor shares it, so that the store can sum in
// it. Returns whether it did. `value` is the input's tensor in either case.
bool TakeBuffer(OpKernelContext* ctx, int input, Tensor* value) {
  const TensorShape shape = value->shape();
  const DataType dtype = value->dtype();
  *value = Tensor();  // else `value` would be a second reference
  const std::unique_ptr<Tensor> taken =
      ctx->forward_input(input, OpKernelContext::Params::kNoReservation, dtype, shape,
                         tensorflow::DEVICE_MEMORY, tensorflow::AllocatorAttributes());
  *value = taken != nullptr ? *taken : ctx->input(input);
  return taken != nullptr;
}

// Writes one element, or adds to it.
absl::Status WriteOne(OpKernelContext* ctx) {
  enum Inputs { kHandle, kIndex, kValue, kFlowIn };
  ArrayRef array;
  int64_t index;
  TF_RETURN_IF_ERROR(GetSlot(ctx, &array, &index));
  ArrayStore& store = array->store();
  TF_RETURN_IF_ERROR(store.CheckWriteDtype(ctx->input_dtype(kValue)));
  Tensor value = ctx->input(kValue);
  const bool exclusive = store.accumulates() && TakeBuffer(ctx, kValue, &value);
  DeviceElementOps ops(ctx);
  TF_RETURN_IF_ERROR(store.Write(index, std::move(value), exclusive, ops));
  ctx->set_output(0, ctx->input(kFlowIn));
  return absl::OkStatus();
}

absl::Status ReadOne(OpKernelContext* ctx) {
  ArrayRef array;
  int64_t index;
  TF_RETURN_IF_ERROR(GetSlot(ctx, &array, &index));
  TF_RETURN_IF_ERROR(array->store().CheckReadDtype(ctx->expected_output_dtype(0)));
  DeviceElementOps ops(ctx);
  Tensor value;
  TF_RETURN_IF_ERROR(array->store().Read(index, ops, &value));
  ctx->set_output(0, std::move(value));
  return absl::OkStatus();
}

}  // namespace

KernelTable AccessKernels() {
  const GpuTypes written = GpuNumbers("T"), read = GpuNumbers("dtype", {DT_INT64});
  return {{ops::kTensorArrayWriteV3,
           MakeKernel<Cheap<FunctionKernel<WriteOne>>>,
           {"handle", "index"},
           written},
          {ops::kTensorArrayReadV3,
           MakeKernel<Cheap<FunctionKernel<ReadOne>>>,
           {"handle", "index"},
           read}};
}

}  // namespace tensor_array_grad
