#ifndef CC_LOOP_SMALL_OPS_H_
#define CC_LOOP_SMALL_OPS_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The small op for `node`, without a `run` if there is none: sums, differences, products,
// comparisons and negation of float, double, int32 and int64, logic, choice, int arithmetic on
// scalars, indices (small_indexing.h), and pushes and pops (small_accumulators.h). Only ops whose
// kernels are exact element by element are here; float Maximum and Minimum, for example, are not:
// Eigen's answer for NaN depends on the vector instructions it was compiled for.
SmallOp SmallOpFor(const tensorflow::Node& node, tensorflow::Allocator* allocator);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_OPS_H_
