#ifndef CC_SLICES_GATHER_GRADIENT_H_
#define CC_SLICES_GATHER_GRADIENT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/tensorflow_names.h"
#include "cc/slices/slice_gradient.h"

// The gradients of gathers, whose rows are selected by indices: UnsortedSegmentSum, which is the
// gradient of Gather, and ScatterNd, which is that of GatherNd. ReadSliceGradient and ReadOneRun
// call these functions after the check of the dtypes.
namespace tensor_array_grad {

// ReadSliceGradient for an UnsortedSegmentSum, with the Transpose and the Reshape behind it.
absl::Status ReadSegmentSum(const SliceGradientOp& op, absl::Span<const Tensor* const> inputs,
                            SliceGradient* gradient);

// ReadSliceGradient for a ScatterNd.
absl::Status ReadScatter(absl::Span<const Tensor* const> inputs, SliceGradient* gradient);

// ReadOneRun for an UnsortedSegmentSum without Transpose and Reshape. Only the gradient of a gather
// of one index has one row.
const Tensor* ReadRunOfSegment(absl::Span<const Tensor* const> inputs, const TensorShape& whole,
                               int64_t* first);

}  // namespace tensor_array_grad

#endif  // CC_SLICES_GATHER_GRADIENT_H_
