#ifndef CC_GRAPH_TWIN_RULE_H_
#define CC_GRAPH_TWIN_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Makes one of two integer variables that are equal in every step of a loop that carries a list:
// the counter that while_v2 gives each loop, and the one that the user counts with.
//
//     a: 0 -> .. -> AddV2(a, 1)    b: 0 -> .. -> AddV2(b, 1)    ->  a for whoever reads a or b
//
// Equal is what begins with one value or with constants of equal value, and has equal constants, or
// one value, added in each step. The first variable stays; who waits for a node of the second waits
// for the first's. Leaves them alone if the index of the second's merge is read, if its next step
// is waited for or waits for what not every variable's does, or if they sit on several devices.
class TwinRule : public Rule {
 public:
  const char* name() const override { return "twin"; }
  const char* op() const override { return "LoopCond"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_TWIN_RULE_H_
