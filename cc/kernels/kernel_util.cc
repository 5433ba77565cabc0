#include "cc/kernels/kernel_util.h"

#include "absl/strings/str_cat.h"
#include "cc/core/errors.h"
#include "cc/core/tensorflow_names.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/kernel_names.h"
#include "tensorflow/core/framework/resource_handle.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {

using tensorflow::ResourceHandle;

namespace {

absl::Status CheckHandle(OpKernelContext* ctx, const ResourceHandle& handle) {
  const std::string& device = ctx->device()->attributes().name();
  if (handle.device() != device) {
    return absl::InvalidArgumentError(absl::StrCat("Trying to access resource ", handle.name(),
                                                   " located in device ", handle.device(),
                                                   " from device ", device));
  }
  static const uint64_t ours = tensorflow::TypeIndex::Make<ArrayResource>().hash_code();
  if (handle.hash_code() == ours) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Trying to access a handle's resource using the wrong type. The handle ", handle.name(),
      " points to a resource of type '", handle.maybe_type_name(),
      "', and a tensor array made by tensor_array_grad is needed. A TensorArray made before the "
      "library was enabled cannot be used after: enable it first."));
}

absl::Status LookupByName(OpKernelContext* ctx, const ResourceHandle& handle, ArrayRef* array) {
  tensorflow::core::RefCountPtr<ArrayResource> found;
  absl::Status status =
      ArrayResource::Find(ctx->resource_manager(), handle.container(), handle.name(), &found);
  array->Own(found.release());
  return status;
}

}  // namespace

absl::Status LookupArray(OpKernelContext* ctx, int input, ArrayRef* array) {
  const Tensor& tensor = ctx->input(input);
  if (tensor.NumElements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(ctx->op_kernel().type_string(), ": the handle tensor is empty: it has shape ",
                     tensor.shape().DebugString(), " and one resource handle is needed."));
  }
  const ResourceHandle& handle = *static_cast<const ResourceHandle*>(tensor.data());
  absl::Status status = CheckHandle(ctx, handle);
  if (!status.ok()) return status;
  if (!handle.IsRefCounting()) return LookupByName(ctx, handle, array);
  array->Borrow(static_cast<ArrayResource*>(handle.resource().get()));
  return absl::OkStatus();
}

void ArrayKernel::Compute(OpKernelContext* ctx) {
  ArrayRef array;
  OP_REQUIRES_OK(ctx, LookupArray(ctx, 0, &array));
  OP_REQUIRES_OK(ctx, Run(ctx, array->store()));
}

absl::Status GetIndex(OpKernelContext* ctx, int input, int64_t* index) {
  const Tensor& tensor = ctx->input(input);
  if (tensor.dims() != 0) return errors::IndexNotScalar(tensor.shape());
  *index = *static_cast<const int32_t*>(tensor.data());
  return absl::OkStatus();
}

void ForwardFlow(OpKernelContext* ctx, int input, int output) {
  ctx->set_output(output, ctx->input(input));
}

FirstFlow::FirstFlow(tensorflow::OpKernelConstruction* ctx)
    : on_host_(ctx->device_type() == tensorflow::DeviceType(tensorflow::DEVICE_CPU)) {
  if (!on_host_) return;  // the constructor has no stream to make the tensor on
  flow_ = Tensor(tensorflow::DT_FLOAT, tensorflow::TensorShape({}));
  flow_.scalar<float>()() = 0.0f;
}

absl::Status FirstFlow::Output(OpKernelContext* ctx, int output) {
  if (!on_host_) {
    MutexLock lock(&mu_);
    if (flow_.NumElements() == 0) {
      DeviceElementOps ops(ctx);
      Tensor zero;
      TF_RETURN_IF_ERROR(ops.Allocate(tensorflow::DT_FLOAT, tensorflow::TensorShape({}), &zero));
      TF_RETURN_IF_ERROR(ops.Zero(&zero));
      flow_ = std::move(zero);
    }
  }
  ctx->set_output(output, flow_);
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
