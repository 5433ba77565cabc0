#ifndef CC_GRAPH_RECOMPUTE_RULE_H_
#define CC_GRAPH_RECOMPUTE_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Does not keep for the gradient of a loop what follows from the number of the step.
//
//     forward step:   i -> TensorListPushBack(list, i);  p = Equal(FloorMod(i, 2), 0) -> ..
//     backward step:  TensorListPopBack(list) -> i, ..
//  -> backward step:  i = Sub(i at the end, steps taken + 1);  p = Equal(FloorMod(i, 2), 0)
//
// The index of x[:, i], Pack(0, i), is another value that follows from i.
//
// An accumulator takes eight nodes in each step; all that are packed into one take eight and about
// one each. So what is the same in all steps (length and element shape of a list that is only
// read) is computed once, before the loop, whatever else is kept; the rest is computed again only
// if then nothing is kept, and that is fewer nodes. A constant of the loop is alive in the last
// step too, which is not taken: readers that would run there read it behind an Identity that waits.
//
// Fires only where the backward loop takes at most as many steps as the forward loop, and where
// neither the bound of the list nor the shape of its elements can refuse what is pushed.
class RecomputeRule : public Rule {
 public:
  const char* name() const override { return "recompute"; }
  const char* op() const override { return "LoopCond"; }  // the forward loop's
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_RECOMPUTE_RULE_H_
