#ifndef CC_SLICES_SLICE_INPUTS_H_
#define CC_SLICES_SLICE_INPUTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/invalid.h"
#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"
#include "cc/slices/slice_gradient.h"

// What the files that read the inputs of slices and of their gradients have in common.
namespace tensor_array_grad {

// The distance between neighbours in each dimension, in values.
inline cpu::Box::Sizes StepsOf(const TensorShape& shape) {
  cpu::Box::Sizes steps(shape.dims());
  int64_t step = 1;
  for (int d = shape.dims() - 1; d >= 0; --d) {
    steps[d] = step;
    step *= shape.dim_size(d);
  }
  return steps;
}

// The functions of gather_gradient.cc, for the gradients of gathers, whose rows are selected by
// indices: UnsortedSegmentSum, which is the gradient of Gather, and ScatterNd, which is that of
// GatherNd. ReadSliceGradient and ReadOneLine call them after the check of the dtypes.

// ReadSliceGradient for an UnsortedSegmentSum, with the Transpose and the Reshape behind it.
absl::Status ReadSegmentSum(const SliceGradientOp& op, absl::Span<const Tensor* const> inputs,
                            SliceGradient* gradient);

// ReadSliceGradient for a ScatterNd.
absl::Status ReadScatter(absl::Span<const Tensor* const> inputs, SliceGradient* gradient);

// ReadOneLine for an UnsortedSegmentSum without Transpose and Reshape. Only the gradient of a
// gather of one index has one row.
const Tensor* ReadLineOfSegment(absl::Span<const Tensor* const> inputs, const TensorShape& whole,
                                int64_t* first);

}  // namespace tensor_array_grad

#endif  // CC_SLICES_SLICE_INPUTS_H_
