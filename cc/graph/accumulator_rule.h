#ifndef CC_GRAPH_ACCUMULATOR_RULE_H_
#define CC_GRAPH_ACCUMULATOR_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Packs the lists that a loop fills for its gradient into one, and makes of one alone what it makes
// of several: rows are cheaper than lists.
//
// Each intermediate that the gradient of a while_v2 loop needs has a list of its own: a variable of
// the forward loop that every step pushes to, and one of the backward loop that every step pops
// from. That is eight nodes a step for each, of which this rule leaves eight in all:
//
//   EmptyTensorList a, b, ..          PackAccumulators(a, b, ..)
//   forward step:   TensorListPushBack(a, x), (b, y), ..   ->  PushAccumulators(all, x, y, ..)
//   backward step:  TensorListPopBack(a), (b), ..          ->  PopAccumulators(all)
//
// A tensor that is pushed to equal lists is kept once.
//
// A list that is pushed to and never read is packed with those that are read: removing it would
// lose the error of a list that refuses an element (for its shape, or for being one too many),
// which PushAccumulators raises as TensorListPushBack does.
//
// Fires only where the ring of nodes from the empty list to the last pop has no other consumer, all
// sit on one device that has the kernels, the pops wait for nothing and ask for no shape. Nothing
// but a push depends on other pushes, so no cycle can come of it; the order of pushes of one list
// stays, that of lists among each other nobody sees.
class AccumulatorRule : public Rule {
 public:
  const char* name() const override { return "accumulators"; }
  const char* op() const override { return "LoopCond"; }  // the forward loop's
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_ACCUMULATOR_RULE_H_
