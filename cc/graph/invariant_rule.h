#ifndef CC_GRAPH_INVARIANT_RULE_H_
#define CC_GRAPH_INVARIANT_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Takes variables that never change out of the steps of a loop that carries a list.
//
//     enter -> merge -> gate --1--> [Identity ->] next -> back to merge
//                         `----0--> exit
//   ->  enter, constant in the loop; for the exit an Identity of the initial value
//
// Who read the merge or the gate reads the enter. The gate also said whether the step is taken; who
// has that from no other input waits for a body gate instead. Likewise the Identity waits for the
// exit of another variable, so that it is as dead and as late as the exit was. A variable that
// nobody reads goes, enter and all; every step waits for the others.
//
// Leaves a variable alone if the enter is constant already; if merge:1 is read; if somebody waits
// for the merge, the gate or the next; if control flow reads it, other than a Switch by a condition
// that changes; if the condition reads it and nothing that changes; if a wait would be lost that is
// not every variable's; or if a node of the ring or a reader sits on another device.
class InvariantRule : public Rule {
 public:
  const char* name() const override { return "invariant"; }
  const char* op() const override { return "LoopCond"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_INVARIANT_RULE_H_
