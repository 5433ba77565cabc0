#ifndef CC_GRAPH_HOIST_RULE_H_
#define CC_GRAPH_HOIST_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Takes a Const out of the steps of a loop that carries a list.
//
//     Const() ^body gate  ->  Const() ^initial value of a variable, Enter(Const), constant
//
// The initial value is in the frame that the loop is entered from, and as alive as the loop: nested
// loops and loops in branches that are not taken stay as they are. Consumers read the Enter, which
// is there before the step's condition is known; who has nothing else that tells whether the step
// is taken waits for what the Const waited for.
//
// Leaves a Const alone if it waits for anything but body gates and merges of the loop, as one in a
// branch does; if somebody waits for it; if control flow reads it; if a consumer sits on another
// device; or if no variable starts, on its device, from an op that is no control flow.
class HoistRule : public Rule {
 public:
  const char* name() const override { return "hoist"; }
  const char* op() const override { return "LoopCond"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_HOIST_RULE_H_
