#ifndef CC_GRAPH_STEP_LIVENESS_H_
#define CC_GRAPH_STEP_LIVENESS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// One side of the Switches by `predicate`: what comes out there is dead unless that side is taken.
struct Branch {
  Source predicate;  // its node is null for no branch
  int side;

  bool operator==(const Branch& other) const {
    return predicate == other.predicate && side == other.side;
  }

  Branch Other() const { return {predicate, 1 - side}; }
};

// The branch that `source`, if it is an output of a Switch, is alive in.
Branch BranchOf(Source source);

// The branch that `node` is a pivot of: lowered conditionals and loops have an Identity of one
// output of a Switch for others to wait for. None if it, or the Switch, itself waits for something:
// then it says more.
Branch BranchOfPivot(const tensorflow::Node& node);

// What goes into the Switch that `source` comes out of.
Source BeforeSwitch(Source source);

// Which nodes of a step of a loop run, told by the branches that must have been taken.
//
// The executor runs a node on dead inputs by not running it and making its outputs dead; a Merge
// alone needs one living input (common_runtime/propagator_state.cc). Branches and what follows from
// them hold within one step of one loop; inner loops count as nodes of which nothing is known.
// All variables of a loop are taken to be alive together. Describes the graph as it was; nodes may
// go afterwards.
class StepLiveness {
 public:
  explicit StepLiveness(const tensorflow::Node& loop_cond);

  // The nodes of the condition and the body, before those that they feed.
  const std::vector<tensorflow::Node*>& nodes() const { return nodes_; }

  // Whether `source` is alive wherever all of `others` are.
  bool FollowsFrom(Source source, const std::vector<Source>& others) const;

  // Whether a Switch brings `source` into `branch` from where it is alive in the other branch too.
  bool IsBroughtInto(const Branch& branch, Source source) const;

  // Whether `node` waits for nothing but to be in `branch`: for pivots that are alive wherever it
  // is taken.
  bool WaitsForBranchAlone(const tensorflow::Node& node, const Branch& branch) const;

 private:
  // What has to be so for an output to be alive, sorted: branches that are taken, and nodes that
  // are alive for unknown reasons.
  using Conditions = std::vector<int64_t>;

  void CollectNodes(const std::vector<LoopVariable>& variables);
  Conditions Of(Source source) const;
  Conditions OfNode(tensorflow::Node& node) const;
  Conditions OfMerge(tensorflow::Node& merge) const;

  std::vector<tensorflow::Node*> nodes_;
  std::unordered_map<int, Conditions> conditions_;  // by Node::id(), which is never used again
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_STEP_LIVENESS_H_
