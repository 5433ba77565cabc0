#ifndef CC_KERNELS_KERNEL_UTIL_H_
#define CC_KERNELS_KERNEL_UTIL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/resource/array_resource.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/lib/core/refcount.h"

namespace tensor_array_grad {

using ArrayRef = tensorflow::core::RefCountPtr<ArrayResource>;

// Sets `array` to the array that input `input` is a handle of: its first element, if it has many.
// InvalidArgument: no element; a handle of another device or type. NotFound: a handle that only
// names an array (it went through a proto) which is gone.
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

// A flow to start from: the scalar 0.0, allocated once a kernel.
tensorflow::Tensor NewFlow();

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_KERNEL_UTIL_H_
