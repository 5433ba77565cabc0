#ifndef CC_REWRITE_CONDITIONAL_RULE_H_
#define CC_REWRITE_CONDITIONAL_RULE_H_

#include <vector>

#include "cc/rewrite/rule.h"

namespace tensor_array_grad {

// Replaces the addition of a conditional's list gradient by a conditional addition to one element.
//
// If a loop reads element i of a list in one branch of a conditional, the gradient of that branch
// is a list in which only element i is set, and the other branch gives zeros:
//
//   AddN([a, Merge(SetItem(Reserve(ElementShape(l), Length(l)), i, x), ZerosLike(l)), ..])
//     ->  TensorArrayGrad>ListAccumulateIf(a, i, x, l, p)
//
// Several such operands become a chain of ops. Here p is the predicate, and i, x and l come from
// Switches by p; the new op reads the inputs of these Switches. The requirements of
// AccumulateIntoListRule apply, and three more:
//
// - The inputs of the Switches must be live whenever p is, since the new op also runs in iterations
//   that take the other branch.
// - No other node may read a node between the Switches and the sum.
// - These nodes may have no control inputs except pivots of their branch.
class ConditionalRule : public Rule {
 public:
  const char* name() const override { return "conditional"; }
  const char* op() const override { return "LoopCond"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_CONDITIONAL_RULE_H_
