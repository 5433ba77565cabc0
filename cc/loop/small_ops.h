#ifndef CC_LOOP_SMALL_OPS_H_
#define CC_LOOP_SMALL_OPS_H_

#include "absl/types/span.h"
#include "cc/loop/value.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// An operand of a small op.
struct Operand {
  Value* value;
  bool last;  // the buffer may be written if nothing else holds it
};

// Computes an op on small values as its kernel would, bit for bit. Returns false, and has changed
// nothing, where it does not: other shapes than equal ones and scalars, more elements than
// kMostSmallElements, what the kernel reports as an error. The kernel is to be called then.
using SmallOp = bool (*)(absl::Span<const Operand> operands, tensorflow::Allocator* allocator,
                         Value* result);

// Calling a kernel costs about as much as adding so many numbers.
inline constexpr int64_t kMostSmallElements = 1024;

// The small op for `node`, or null if there is none: sums, differences, products, comparisons and
// negation of float, double, int32 and int64, logic, choice, and int arithmetic on scalars. Only
// ops whose kernels are exact element by element are here; float Maximum and Minimum, for example,
// are not: Eigen's answer for NaN depends on the vector instructions it was compiled for.
SmallOp SmallOpFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_OPS_H_
