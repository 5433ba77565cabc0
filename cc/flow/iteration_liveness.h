#ifndef CC_FLOW_ITERATION_LIVENESS_H_
#define CC_FLOW_ITERATION_LIVENESS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cc/flow/loop_variable.h"
#include "cc/flow/node_util.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// One side of the Switches by `predicate`: their outputs of this side are dead unless the predicate
// selects this side.
struct Branch {
  Source predicate;  // its node is null for no branch
  int side;

  bool operator==(const Branch& other) const {
    return predicate == other.predicate && side == other.side;
  }

  Branch Other() const { return {predicate, 1 - side}; }
};

// The branch in which `source` is live, if it is an output of a Switch; else none.
Branch BranchOf(Source source);

// The branch of which `node` is a pivot, or no branch. In lowered conditionals and loops, a pivot
// is an Identity of one output of a Switch for which nodes of the branch wait. An Identity does not
// count if it or the Switch has a control input, because then more than the branch decides whether
// it is live.
Branch BranchOfPivot(const tensorflow::Node& node);

// The data input of the Switch of which `source` is an output. Requires: it is one.
Source BeforeSwitch(Source source);

// Computes under which conditions the nodes of a loop iteration run.
//
// The executor does not run a node that has a dead input, and makes its outputs dead; only a Merge
// runs if one input is live (common_runtime/propagator_state.cc). So each output is live exactly if
// a set of conditions holds. A condition is "this side of this predicate is taken" or, if no more
// is known, "this output is live". A node has the conditions of all its inputs, a Switch adds one
// for its side, and a Merge of both sides of a predicate drops those of that predicate:
//
//   x:1 = Switch(v, p):1          {p is true}
//   y = Neg(x:1)                  {p is true}
//   z = Merge(y, Switch(v, p):0)  {}, if p and v are live in the whole iteration
//
// If the conditions of one output include those of another, the first is live only if the second
// is.
//
// All statements hold within one iteration of one loop. Nothing is known about nodes of inner
// loops. All variables of the loop are assumed to be live together. The answers describe the graph
// at construction; nodes may be removed afterwards. cc/flow/liveness.h does the same for a whole
// frame.
class IterationLiveness {
 public:
  explicit IterationLiveness(const tensorflow::Node& loop_cond);

  // The nodes of the condition and the body, each before the nodes that it feeds.
  const std::vector<tensorflow::Node*>& nodes() const { return nodes_; }

  // Whether `source` is live whenever all of `others` are.
  bool FollowsFrom(Source source, const std::vector<Source>& others) const;

  // Whether `source` is an output of a Switch of `branch` whose data input is live whenever the
  // predicate is, and so also if the other branch is taken.
  bool IsBroughtInto(const Branch& branch, Source source) const;

  // Whether all control inputs of `node` are pivots of `branch` that are live whenever it is taken.
  bool WaitsForBranchAlone(const tensorflow::Node& node, const Branch& branch) const;

 private:
  // What must hold for an output to be live, sorted: sides of predicates that are taken, and
  // outputs that are live for unknown reasons.
  using Conditions = std::vector<int64_t>;

  void CollectNodes(const std::vector<LoopVariable>& variables);
  Conditions Of(Source source) const;
  Conditions OfNode(tensorflow::Node& node) const;
  Conditions OfMerge(tensorflow::Node& merge) const;

  std::vector<tensorflow::Node*> nodes_;
  std::unordered_map<int, Conditions> conditions_;  // by Node::id(), which is never reused
};

}  // namespace tensor_array_grad

#endif  // CC_FLOW_ITERATION_LIVENESS_H_
