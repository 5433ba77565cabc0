#ifndef CC_DEVICE_FUNCTORS_GPU_H_
#define CC_DEVICE_FUNCTORS_GPU_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/cuda_kernels.h"

// The functions of functors.h for tensors in device memory. Each queues its work in one launch and
// does not wait for it; an error means that the work could not be queued. Tensors may be freed when
// the call returns, since the same stream orders the reuse of their allocator's memory.
namespace tensor_array_grad::gpu {

// The stream that work is queued on, and the allocator of device memory for that work.
struct Queue {
  cuda::Stream stream;
  absl::FunctionRef<absl::Status(int64_t bytes, Tensor* room)> allocate;
};

absl::Status Add(const Tensor& left, const Tensor& right, const Queue& queue, Tensor* out);

// Zero and Pack require a dtype whose values are plain bytes.
absl::Status Zero(const Queue& queue, Tensor* out);

// Copies pieces that follow one another in memory as one, so that rows cut from one tensor cost no
// more than that tensor.
absl::Status Pack(absl::Span<const Piece> pieces, const Queue& queue, Tensor* out);

}  // namespace tensor_array_grad::gpu

#endif  // CC_DEVICE_FUNCTORS_GPU_H_
