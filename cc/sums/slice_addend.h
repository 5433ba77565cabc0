#ifndef CC_SUMS_SLICE_ADDEND_H_
#define CC_SUMS_SLICE_ADDEND_H_

#include "cc/base/slice_gradient_op.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/remarks.h"
#include "cc/sums/sum_tree.h"

namespace tensor_array_grad {

// The operands that AddSlices takes without making the full tensor. A part is the gradient of an
// index; that of a gather may be transposed and reshaped. AddSlices can follow the order of the
// sums inside.
extern const SumPattern slice_pattern;

// Whether AddSlices sums values of `dtype`.
bool IsSummed(DataType dtype);

// Whether the order in which TensorFlow adds the operands of `sum` is known, and AddSlices can
// follow it. `first` is the index of the operand to which the others are added; their number if
// all are addends.
bool CanFollow(const Addend& sum, int first, Reason* why);

// How AddSlices takes `addend`, which is no kSum. That of branches is the variant of the branch
// that was taken.
SliceGradientOp OpOf(const Addend& addend);

}  // namespace tensor_array_grad

#endif  // CC_SUMS_SLICE_ADDEND_H_
