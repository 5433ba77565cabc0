#ifndef CC_DEVICE_FUNCTORS_H_
#define CC_DEVICE_FUNCTORS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
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

// A part of a tensor: in dimension d, sizes[d] values that are steps[d] apart; `first` is the
// number of the first value of all. No dimensions: that value alone.
struct Box {
  using Sizes = absl::InlinedVector<int64_t, 4>;
  int64_t first = 0;
  Sizes sizes, steps;
};

// Adds as many values of `addend` as the box has, in row-major order from number `begin` on, to the
// values of `sum` that the box holds. Requires: CanAdd(dtype), one dtype; the box lies in `sum` and
// names no value twice.
void AddToBox(const tensorflow::Tensor& addend, int64_t begin, Box box, ParallelFor run,
              tensorflow::Tensor* sum);

// Moves as many values of `sum` as the box has into `taken`, from number `begin` on, and leaves -0
// in their place: what is added to -0 is the sum, whatever its sign. Requires the same.
void TakeFromBox(Box box, ParallelFor run, tensorflow::Tensor* sum, int64_t begin,
                 tensorflow::Tensor* taken);

// Fills `out` with zeros. Requires: CanZero(dtype).
void Zero(ParallelFor run, tensorflow::Tensor* out);

// Fills `out` with the pieces, one behind the other. Any dtype; zero pieces of a dtype that has no
// zero leave the values as Allocate made them.
void Pack(absl::Span<const Piece> pieces, ParallelFor run, tensorflow::Tensor* out);

}  // namespace tensor_array_grad::cpu

#endif  // CC_DEVICE_FUNCTORS_H_
