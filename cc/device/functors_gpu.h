#ifndef CC_DEVICE_FUNCTORS_GPU_H_
#define CC_DEVICE_FUNCTORS_GPU_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/core/element_ops.h"
#include "cc/device/cuda_kernels.h"
#include "tensorflow/core/framework/tensor.h"

// What cpu:: in functors.h does, for tensors in device memory. The work is queued, in one launch
// each, and not waited for; an error is one of queueing it. Tensors may be let go of when the call
// returns: their memory comes from an allocator that is ordered by the same stream.
namespace tensor_array_grad::gpu {

// Where work is queued, and where room in device memory for that work comes from.
struct Queue {
  cuda::Stream stream;
  absl::FunctionRef<absl::Status(int64_t bytes, tensorflow::Tensor* room)> allocate;
};

// out = left + right; `out` may be `left`. Requires: CanAdd(dtype), one dtype and shape.
absl::Status Add(const tensorflow::Tensor& left, const tensorflow::Tensor& right,
                 const Queue& queue, tensorflow::Tensor* out);

// Fills `out` with zeros. Requires: a dtype whose values are plain bytes.
absl::Status Zero(const Queue& queue, tensorflow::Tensor* out);

// Fills `out` with the pieces, one behind the other. Pieces that follow one another in memory are
// copied as one, so that rows cut from one tensor cost no more than that tensor.
// Requires: a dtype whose values are plain bytes.
absl::Status Pack(absl::Span<const Piece> pieces, const Queue& queue, tensorflow::Tensor* out);

}  // namespace tensor_array_grad::gpu

#endif  // CC_DEVICE_FUNCTORS_GPU_H_
