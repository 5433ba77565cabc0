#ifndef CC_LOOP_SMALL_ACCUMULATORS_H_
#define CC_LOOP_SMALL_ACCUMULATORS_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The small op for a node that pushes a row of values to what a loop keeps for its gradient, or
// pops one (lists/accumulators.h); one that does not exist for any other node. Takes what can be
// changed in place: nothing else holds the accumulators.
SmallOp SmallAccumulatorsFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_ACCUMULATORS_H_
