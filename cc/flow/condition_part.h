#ifndef CC_FLOW_CONDITION_PART_H_
#define CC_FLOW_CONDITION_PART_H_

#include <unordered_set>

#include "cc/flow/frame.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The nodes and inner loops on which LoopCond depends within its frame and iteration, by data or
// control edges. They must run before the body, because they decide whether the body runs.
struct ConditionPart {
  std::unordered_set<const tensorflow::Node*> nodes;  // LoopCond included
  std::unordered_set<const Frame*> loops;             // inner loops
};

// O(edges of the frame).
ConditionPart ConditionPartOf(const Frame& frame, const tensorflow::Node& loop_cond);

}  // namespace tensor_array_grad

#endif  // CC_FLOW_CONDITION_PART_H_
