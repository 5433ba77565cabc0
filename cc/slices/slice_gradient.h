#ifndef CC_SLICES_SLICE_GRADIENT_H_
#define CC_SLICES_SLICE_GRADIENT_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/slice_gradient_op.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/functors.h"

namespace tensor_array_grad {

// The gradient of an index as rows. Stock makes a tensor with the shape of the indexed tensor,
// which is zero except in these rows.
//
// A row is a set of positions in the flat tensor: row i consists of the positions of `box` if the
// box begins at position starts[i]. Its n = box.values() values are those of `values` from i * n
// on, in row-major order. The gradient of a slice has one row; that of a gather has one for each
// different index. No two rows have a position in common.
struct SliceGradient {
  TensorShape whole;  // shape of the tensor that stock makes
  Tensor values;
  absl::InlinedVector<int64_t, 2> starts;
  cpu::Box box;
  bool from_zero = false;  // whether stock adds the values to zeros: the values are 0 + `values`
};

// Sets `gradient` to the output of the op for `inputs`. A row that several indices name is the sum
// of their values, from zero and in the order of the indices. The values may share the buffer of an
// input.
//
// Returns an error for inputs for which stock reports one, and for values of a dtype for which
// CanAdd is false. Requires: `gradient` is new, and the op is not kSum, which ReadTerms reads.
// The value of a Fill is 0.
absl::Status ReadSliceGradient(const SliceGradientOp& op, absl::Span<const Tensor* const> inputs,
                               SliceGradient* gradient);

// Like ReadSliceGradient, at a tenth of its cost, for an output of shape `whole` with one row whose
// positions follow each other. Sets *first to the first position and returns the input that has the
// values. Returns null for any other output.
const Tensor* ReadOneLine(const SliceGradientOp& op, absl::Span<const Tensor* const> inputs,
                          const TensorShape& whole, int64_t* first);

// Makes `values` an uninitialised tensor in host memory. Returns ResourceExhausted if memory runs
// out.
absl::Status AllocateValues(DataType dtype, const TensorShape& shape, Tensor* values);

}  // namespace tensor_array_grad

#endif  // CC_SLICES_SLICE_GRADIENT_H_
