#ifndef CC_LOOP_SMALL_CHOICE_H_
#define CC_LOOP_SMALL_CHOICE_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The small op for Select and SelectV2 of bool, float, double, int32 and int64; null for any other
// node.
SmallOp::Run SmallChoiceFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_CHOICE_H_
