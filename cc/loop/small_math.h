#ifndef CC_LOOP_SMALL_MATH_H_
#define CC_LOOP_SMALL_MATH_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The small op for a node that computes numbers; null for any other node:
//
//     Add, AddV2, Sub, Mul, Neg, Square, AddN, BiasAdd, comparisons, IsFinite, logic
//     Maximum, Minimum, FloorDiv, FloorMod   of integer scalars
//     Cast                                   of scalars, where every processor rounds alike
//
// of float, double, int32 and int64, where shapes are stretched to each other if the kernel does
// so. Only ops whose kernels are exact element by element are here; float Maximum and Minimum, for
// example, are not: Eigen's answer for NaN depends on the vector instructions it was compiled for.
SmallOp::Run SmallMathFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_MATH_H_
