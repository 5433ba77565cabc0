#ifndef CC_KERNELS_KERNEL_UTIL_H_
#define CC_KERNELS_KERNEL_UTIL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/invalid.h"
#include "cc/base/mutex.h"
#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/kernel_names.h"
#include "cc/resource/array_resource.h"
#include "tensorflow/core/framework/resource_handle.h"
#include "tensorflow/core/lib/core/refcount.h"

namespace tensor_array_grad {

// Where the resource manager lists the resources that a kernel makes. Stock lists them in the
// container of the call (the step container). All eager calls and `tf.function`s share one such
// container, and it is destroyed while kernels run if another thread clears the caches of the eager
// context. A resource of this library removes its entry when it is destroyed, so the end of a call
// need not clean up, and a container of this library can be used.
Place PlaceOf(OpKernelContext* ctx);

// A pointer to a resource for the duration of a kernel call. The handle tensor in the kernel's
// input keeps the resource alive, so the object takes no reference. A resource that was found by
// its name is an exception: the object owns a reference to it.
template <typename T>
class ResourceRef {
 public:
  T* get() const { return resource_; }
  T* operator->() const { return resource_; }
  // Points to `resource` without taking a reference.
  void Borrow(T* resource) { resource_ = resource; }
  // Points to `resource` and takes over the caller's reference.
  void Own(T* resource) {
    owner_.reset(resource);
    resource_ = resource;
  }

 private:
  T* resource_ = nullptr;
  tensorflow::core::RefCountPtr<T> owner_;
};
using ArrayRef = ResourceRef<ArrayResource>;

// Sets `handle` to the first element of input `input`. Requires: the input is a resource tensor in
// host memory. Returns InvalidArgument if the input has no element, or if the handle is of another
// device or of another type than the one with this hash. `kind` names the type in messages.
absl::Status GetHandle(OpKernelContext* ctx, int input, const char* kind, uint64_t type_hash,
                       const tensorflow::ResourceHandle** handle);

// Sets `resource` to the T whose handle is the first element of input `input`. Requirement and
// errors are those of GetHandle. Also returns NotFound if the handle only names a resource, because
// it went through a proto, and the resource no longer exists.
template <typename T>
absl::Status Lookup(OpKernelContext* ctx, int input, ResourceRef<T>* resource) {
  static const uint64_t hash = tensorflow::TypeIndex::Make<T>().hash_code();
  const tensorflow::ResourceHandle* handle;
  TF_RETURN_IF_ERROR(GetHandle(ctx, input, T::kKind, hash, &handle));
  if (handle->IsRefCounting()) {
    resource->Borrow(static_cast<T*>(handle->resource().get()));
    return absl::OkStatus();
  }
  tensorflow::core::RefCountPtr<T> found;
  TF_RETURN_IF_ERROR(
      FindListed(ctx->resource_manager(), handle->container(), handle->name(), &found));
  resource->Own(found.release());
  return absl::OkStatus();
}

// The kernel of an op that is a function of its inputs and of the dtypes of its outputs. The error
// of `body` becomes that of the call.
template <absl::Status (*body)(OpKernelContext*)>
class FunctionKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* ctx) override { OP_REQUIRES_OK(ctx, body(ctx)); }
};

// The values of input `input`, which is in host memory and has the dtype of T. They are valid
// during the kernel call.
template <typename T>
absl::Span<const T> Values(OpKernelContext* ctx, int input) {
  const Tensor& tensor = ctx->input(input);
  return {DataOf<T>(tensor), static_cast<size_t>(tensor.NumElements())};
}

// The first flow of an array: the scalar 0.0, in the memory of the op's device. It is made once per
// kernel, and all calls of the kernel share it. Thread-safe.
class FirstFlow {
 public:
  explicit FirstFlow(OpKernelConstruction* ctx);

  // Sets output `output` to the flow.
  absl::Status Output(OpKernelContext* ctx, int output);

 private:
  const bool on_host_;
  Mutex mu_;
  Tensor flow_;  // set by the constructor on a host, else by the first call, under mu_
};

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_KERNEL_UTIL_H_
