#ifndef CC_KERNELS_KERNEL_UTIL_H_
#define CC_KERNELS_KERNEL_UTIL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/core/mutex.h"
#include "cc/resource/array_resource.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/lib/core/refcount.h"

namespace tensor_array_grad {

// A pointer to an array for the duration of a kernel call. The handle tensor in the kernel's input
// keeps the array alive, so that no reference is taken; only an array that was found by its name is
// owned by this object.
class ArrayRef {
 public:
  ArrayResource* operator->() const { return array_; }
  void Borrow(ArrayResource* array) { array_ = array; }
  void Own(ArrayResource* array) {
    owner_.reset(array);
    array_ = array;
  }

 private:
  ArrayResource* array_ = nullptr;
  tensorflow::core::RefCountPtr<ArrayResource> owner_;
};

// Sets `array` to the array whose handle is the first element of input `input`.
// InvalidArgument: no element; a handle of another device or type. NotFound: the handle only names
// an array (because it went through a proto), and that array no longer exists.
absl::Status LookupArray(tensorflow::OpKernelContext* ctx, int input, ArrayRef* array);

// Sets `index` to the scalar index in input `input`.
absl::Status GetIndex(tensorflow::OpKernelContext* ctx, int input, int64_t* index);

// The values of input `input`, in host memory.
template <typename T>
absl::Span<const T> Values(tensorflow::OpKernelContext* ctx, int input) {
  const tensorflow::Tensor& tensor = ctx->input(input);
  return {static_cast<const T*>(tensor.data()), static_cast<size_t>(tensor.NumElements())};
}

// Passes the flow in input `input` on as output `output`, whatever it is.
void ForwardFlow(tensorflow::OpKernelContext* ctx, int input, int output);

// The flow that an array starts with: the scalar 0.0, in the memory of the op's device. Made once
// per kernel and shared by all its calls.
class FirstFlow {
 public:
  explicit FirstFlow(tensorflow::OpKernelConstruction* ctx);

  // Sets output `output` to the flow.
  absl::Status Output(tensorflow::OpKernelContext* ctx, int output);

 private:
  const bool on_host_;
  Mutex mu_;
  tensorflow::Tensor flow_;  // set by the constructor on a host, else by the first call, under mu_
};

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_KERNEL_UTIL_H_
