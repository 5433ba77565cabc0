#ifndef CC_LOOP_SMALL_CHOICE_H_
#define CC_LOOP_SMALL_CHOICE_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Returns the small op for Select and SelectV2 of bool, float, double, int32 and int64, and null
// for any other node. A scalar condition chooses a whole value; a tensor of conditions chooses each
// element. In the first case, the result shares a buffer exactly if the kernel's result would.
SmallOp::Run SmallChoiceFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_CHOICE_H_
