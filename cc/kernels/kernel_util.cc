#include "cc/kernels/kernel_util.h"

#include "cc/device/device_element_ops.h"
#include "tensorflow/core/framework/resource_handle.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {

using tensorflow::ResourceHandle;

Place PlaceOf(OpKernelContext* ctx) {
  return {ctx->resource_manager(), ctx->device()->attributes().name(), "tensor_array_grad"};
}

absl::Status GetHandle(OpKernelContext* ctx, int input, const char* kind, uint64_t type_hash,
                       const ResourceHandle** handle) {
  const Tensor& tensor = ctx->input(input);
  if (tensor.NumElements() == 0) {
    return Invalid(ctx->op_kernel().type_string(), ": the handle tensor is empty: it has shape ",
                   tensor.shape().DebugString(), " and one resource handle is needed.");
  }
  *handle = DataOf<ResourceHandle>(tensor);
  const ResourceHandle& given = **handle;
  const std::string& device = ctx->device()->attributes().name();
  if (given.device() != device) {
    return Invalid("Trying to access resource ", given.name(), " located in device ",
                   given.device(), " from device ", device);
  }
  if (given.hash_code() == type_hash) return absl::OkStatus();
  return Invalid("Trying to access a handle's resource using the wrong type. The handle ",
                 given.name(), " points to a resource of type '", given.maybe_type_name(),
                 "', and a ", kind, " made by tensor_array_grad is needed. A ", kind,
                 " made before the library was enabled cannot be used after: enable it first.");
}

FirstFlow::FirstFlow(OpKernelConstruction* ctx)
    : on_host_(ctx->device_type() == tensorflow::DeviceType(tensorflow::DEVICE_CPU)) {
  if (!on_host_) return;  // the constructor has no stream to make the tensor on
  flow_ = Tensor(DT_FLOAT, TensorShape({}));
  flow_.scalar<float>()() = 0.0f;
}

absl::Status FirstFlow::Output(OpKernelContext* ctx, int output) {
  if (!on_host_) {
    MutexLock lock(&mu_);
    if (flow_.NumElements() == 0) {
      DeviceElementOps ops(ctx);
      Tensor zero;
      TF_RETURN_IF_ERROR(ops.Allocate(DT_FLOAT, TensorShape({}), &zero));
      TF_RETURN_IF_ERROR(ops.Zero(&zero));
      flow_ = std::move(zero);
    }
  }
  ctx->set_output(output, flow_);
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
