#ifndef CC_GRAPH_PIVOT_RULE_H_
#define CC_GRAPH_PIVOT_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Takes control edges out of the steps of a loop that carries a list, where data says the same.
//
// The runtime makes every node of a branch or a body wait for its pivot, an Identity of one side of
// a Switch, so that the node is dead where that side is not taken:
//
//     y = Op(Switch(x, p):1, ..)  ^Identity(Switch(p, p):1)   ->  y = Op(Switch(x, p):1, ..)
//     y = Op(Const ^pivot, Switch(x, p):1)                    ->  the Const waits for p alone
//
// The first where an input of the node that is no Const comes from that side anyway, the second
// where that is so of all who read the Const, which then has the same value in steps that do not
// need it. An Identity that nothing is left of but its input is read past; a pivot that nobody
// waits for goes, and the Switch that was made for it.
//
// Leaves alone edges to Merges, which are alive on other terms, and pivots that themselves wait, or
// whose Switches do: they order effects too. Never makes an edge cross devices.
class PivotRule : public Rule {
 public:
  const char* name() const override { return "pivot"; }
  const char* op() const override { return "LoopCond"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_PIVOT_RULE_H_
