#ifndef CC_SMALL_OPS_SMALL_LOOP_STACKS_H_
#define CC_SMALL_OPS_SMALL_LOOP_STACKS_H_

#include "cc/small_ops/small_op.h"

namespace tensor_array_grad {

// Adds PushLoopStack and PopLoopStack, which push a row of values onto the loop stack that a
// forward loop keeps for its backward loop, and pop one (lists/loop_stack.h).
//
// The small op changes the stack in place, so it returns false if another tensor shares the stack.
void AddSmallLoopStacks(SmallOpTable* table);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_LOOP_STACKS_H_
