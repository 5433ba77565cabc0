#ifndef CC_LOOP_SMALL_LOOP_STACKS_H_
#define CC_LOOP_SMALL_LOOP_STACKS_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Returns the small op for PushLoopStack or PopLoopStack: a node that pushes a row of values onto
// the loop stack that a forward loop keeps for its backward loop, or pops one (lists/loop_stack.h).
// For any other node, exists() of the result is false.
//
// The small op changes the stack in place, so it returns false if another tensor shares the stack.
SmallOp SmallLoopStacksFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_LOOP_STACKS_H_
