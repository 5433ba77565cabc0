#ifndef CC_GRAPH_CONDITIONAL_READ_RULE_H_
#define CC_GRAPH_CONDITIONAL_READ_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Makes one op of a conditional, in a loop, whose one branch reads an element of a list and whose
// other returns a constant or what was brought into it.
//
//   Merge(TensorListGetItem(l, i, shape), x)  ->  TensorArrayGrad>ListGetItemIf(l, i, shape, p, x)
//
// where l, i and x come from Switches by p, of which the new op reads what those read, or are
// constants of their branches. Only where all of them are alive wherever p is: the new op runs
// whichever branch is taken; where the Merge alone reads the item; where the nodes wait for nothing
// but their branch; and where nobody asks the Merge which branch it was.
class ConditionalReadRule : public Rule {
 public:
  const char* name() const override { return "conditional_read"; }
  const char* op() const override { return "LoopCond"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_CONDITIONAL_READ_RULE_H_
