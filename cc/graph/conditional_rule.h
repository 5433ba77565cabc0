#ifndef CC_GRAPH_CONDITIONAL_RULE_H_
#define CC_GRAPH_CONDITIONAL_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Adds into a list where the gradient of a read in one branch of a conditional, in a loop, adds a
// list of one element or, from the other branch, one of zeros.
//
//   AddN([a, Merge(SetItem(Reserve(ElementShape(l), Length(l)), i, x), ZerosLike(l)), ..])
//     ->  TensorArrayGrad>ListAccumulateIf(a, i, x, l, p), one link of a chain for each such list
//
// where i, x and l come from Switches by p: the new op reads what those read. As AccumulateRule,
// and only where i, x and l are alive wherever p is, so that they are in steps that take the other
// branch; where nobody else reads a node between the Switches and the sum; and where these wait for
// nothing but the branch.
class ConditionalRule : public Rule {
 public:
  const char* name() const override { return "conditional"; }
  const char* op() const override { return "LoopCond"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_CONDITIONAL_RULE_H_
