#ifndef CC_DEVICE_FUNCTORS_H_
#define CC_DEVICE_FUNCTORS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "cc/core/element_ops.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensor_array_grad::cpu {

// Runs work(begin, end) over [0, total), in parallel where it pays; `cost` is nanoseconds a unit.
using Work = absl::FunctionRef<void(int64_t begin, int64_t end)>;
using ParallelFor = absl::FunctionRef<void(int64_t total, int64_t cost, Work work)>;

// out = left + right, element by element; `out` may be `left`. Sources may be unaligned.
// Requires: CanAdd(dtype), one dtype and shape.
void Add(const tensorflow::Tensor& left, const tensorflow::Tensor& right, ParallelFor run,
         tensorflow::Tensor* out);

// Fills `out` with zeros. Requires: CanZero(dtype).
void Zero(ParallelFor run, tensorflow::Tensor* out);

// Fills `out` with the pieces, one behind the other. Any dtype; zero pieces of a dtype that has no
// zero leave the values as Allocate made them.
void Pack(absl::Span<const Piece> pieces, ParallelFor run, tensorflow::Tensor* out);

}  // namespace tensor_array_grad::cpu

#endif  // CC_DEVICE_FUNCTORS_H_
