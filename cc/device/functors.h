#ifndef CC_DEVICE_FUNCTORS_H_
#define CC_DEVICE_FUNCTORS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad::cpu {

// Runs work(begin, end) over [0, total), in parallel if that is faster; `cost` is in nanoseconds
// per unit.
using Work = absl::FunctionRef<void(int64_t begin, int64_t end)>;
using ParallelFor = absl::FunctionRef<void(int64_t total, int64_t cost, Work work)>;

// A ParallelFor that does all of it on the calling thread.
inline void OnThisThread(int64_t total, int64_t /*cost*/, Work work) { work(0, total); }

// out = left + right, element by element; `out` may be `left`. Sources may be unaligned.
// Requires: CanAdd(dtype), one dtype and shape.
void Add(const Tensor& left, const Tensor& right, ParallelFor parallel_for, Tensor* out);

// The form of a part of a tensor, without the position where it begins: in dimension d, sizes[d]
// values that are steps[d] apart. A box without dimensions is one value.
struct Box {
  using Sizes = absl::InlinedVector<int64_t, 4>;
  Sizes sizes, steps;

  int64_t values() const;
};

// Adds row i of `addend` to the values of `sum` in the box that begins at value starts[i], in
// row-major order. A row has as many values as the box. Skips row i if starts[i] is negative. With
// `from_zero`, adds 0 + x for each value x of `addend`, which is x, but 0 if x is -0.
// Requires: CanAdd(dtype), one dtype; each box is inside `sum`; no value is in two boxes, unless
// `parallel_for` works on the calling thread alone.
void AddRows(const Tensor& addend, const Box& box, absl::Span<const int64_t> starts,
             ParallelFor parallel_for, Tensor* sum, bool from_zero = false);

// Moves the values of `sum` in the boxes to the rows of `taken`, and leaves -0 in their place: -0 +
// x is x for every x, also for -0. Requires: as AddRows.
void TakeRows(const Box& box, absl::Span<const int64_t> starts, ParallelFor parallel_for,
              Tensor* sum, Tensor* taken);

// Fills `out` with zeros. Requires: CanZero(dtype).
void Zero(ParallelFor parallel_for, Tensor* out);

// Fills `out` with the pieces, one after the other. Any dtype; zero pieces of a dtype that has no
// zero leave the values as Allocate made them.
void Pack(absl::Span<const Piece> pieces, ParallelFor parallel_for, Tensor* out);

}  // namespace tensor_array_grad::cpu

#endif  // CC_DEVICE_FUNCTORS_H_
