#ifndef CC_REWRITE_RECOMPUTE_RULE_H_
#define CC_REWRITE_RECOMPUTE_RULE_H_

#include <vector>

#include "cc/rewrite/rule.h"

namespace tensor_array_grad {

// Makes the backward loop recompute values that follow from the number of the iteration, instead of
// popping them from lists that the forward loop filled.
//
//     forward iteration:   i -> TensorListPushBack(list, i);  p = Equal(FloorMod(i, 2), 0) -> ..
//     backward iteration:  TensorListPopBack(list) -> i, ..
// -> backward iteration:  i = Sub(i at the end, iterations + 1);  p = Equal(FloorMod(i, 2), 0)
//
// where `iterations` counts the backward iterations done so far. The index of x[:, i], Pack(0, i),
// also follows from i.
//
// Which values the rule replaces depends on the cost. The lists that LoopStackRule packs into one
// take eight nodes per iteration together, and about one more for each list. A value that is the
// same in all iterations (length and element shape of a list that is only read) is computed once,
// before the loop, so it is always replaced. The other values are replaced only if no list of the
// backward loop remains and if recomputing takes fewer nodes.
//
// A constant of a loop is live in the last iteration too, whose condition is false. A reader that
// would then run in that iteration reads the constant through an Identity that waits for the body.
//
// The rule applies only if the backward loop runs at most as many iterations as the forward loop,
// and if the list cannot reject a pushed value for its bound or its element shape.
class RecomputeRule : public Rule {
 public:
  const char* name() const override { return "recompute"; }
  const char* op() const override { return "LoopCond"; }  // of the forward loop
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_RECOMPUTE_RULE_H_
