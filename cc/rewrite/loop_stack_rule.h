#ifndef CC_REWRITE_LOOP_STACK_RULE_H_
#define CC_REWRITE_LOOP_STACK_RULE_H_

#include <vector>

#include "cc/rewrite/rule.h"

namespace tensor_array_grad {

// Packs the lists that a loop fills, mostly for its backward loop, into one loop stack.
//
// while_v2 keeps each intermediate that a gradient needs in a list of its own: a variable of the
// forward loop, to which every iteration pushes, and a variable of the backward loop, from which
// every iteration pops. That is eight nodes per iteration for each list. After this rule it is
// eight nodes per iteration for all lists together:
//
//   EmptyTensorList a, b, ..            NewLoopStack(a, b, ..)
//   forward:   TensorListPushBack(a, x), (b, y), ..   ->  PushLoopStack(all, x, y, ..)
//   backward:  TensorListPopBack(a), (b), ..          ->  PopLoopStack(all)
//
// A single list is packed too, because rows of the stack are cheaper than list elements. If the
// same tensor is pushed to several lists that begin as the same EmptyTensorList, the stack holds it
// once.
//
// A list that is never read is packed too, but the stack does not keep its values. Removing it
// would lose the error of a list that rejects an element, because of the element's shape or because
// the list is full; PushLoopStack raises that error as TensorListPushBack does. The same holds for
// a list whose popped values nothing reads. As an exception, floats are kept if the graph has an
// AddN of three or more terms: the rounding of the sum depends on which buffers are shared, and the
// list shares them.
//
// The rule applies only if no other node reads a list between its EmptyTensorList and its last pop,
// if all nodes are on one device that has the kernels, and if the pops have no control inputs and
// request no element shape. The one PushLoopStack depends on everything on which the single pushes
// depend. This makes no cycle, since within an iteration only the list's NextIteration depends on a
// push. The elements of each list keep their order; the order of pushes to different lists cannot
// be observed.
class LoopStackRule : public Rule {
 public:
  const char* name() const override { return "loop_stack"; }
  const char* op() const override { return "LoopCond"; }  // of the forward loop
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_LOOP_STACK_RULE_H_
