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
// keeps the array alive, so the object takes no reference. An array that was found by its name is
// an exception: the object owns a reference to it.
class ArrayRef {
 public:
  ArrayResource* operator->() const { return array_; }
  // Points to `array` without taking a reference.
  void Borrow(ArrayResource* array) { array_ = array; }
  // Points to `array` and takes over the caller's reference.
  void Own(ArrayResource* array) {
    owner_.reset(array);
    array_ = array;
  }

 private:
  ArrayResource* array_ = nullptr;
  tensorflow::core::RefCountPtr<ArrayResource> owner_;
};

// Sets `array` to the array whose handle is the first element of input `input`. Requires: the input
// is a resource tensor in host memory.
//
// Returns InvalidArgument if the input has no element or the handle is of another device or type.
// Returns NotFound if the handle only names an array, because it went through a proto, and the
// array no longer exists.
absl::Status LookupArray(tensorflow::OpKernelContext* ctx, int input, ArrayRef* array);

// The base of kernels whose first input is the handle of an array. Compute looks the array up and
// calls Run with its store. The error of Run becomes that of the call.
class ArrayKernel : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(tensorflow::OpKernelContext* ctx) override;

 protected:
  virtual absl::Status Run(tensorflow::OpKernelContext* ctx, ArrayStore& store) = 0;
};

// Sets `index` to the scalar in the int32 input `input`, in host memory. Returns an error if the
// input is not a scalar.
absl::Status GetIndex(tensorflow::OpKernelContext* ctx, int input, int64_t* index);

// The values of input `input`, which is in host memory and has the dtype of T. They are valid
// during the kernel call.
template <typename T>
absl::Span<const T> Values(tensorflow::OpKernelContext* ctx, int input) {
  const tensorflow::Tensor& tensor = ctx->input(input);
  return {static_cast<const T*>(tensor.data()), static_cast<size_t>(tensor.NumElements())};
}

// Makes output `output` the flow in input `input`, whose value does not matter.
void ForwardFlow(tensorflow::OpKernelContext* ctx, int input, int output);

// The first flow of an array: the scalar 0.0, in the memory of the op's device. It is made once per
// kernel, and all calls of the kernel share it. Thread-safe.
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
