#include "cc/rewrite/conditional_rule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cc/flow/graph_names.h"
#include "cc/flow/iteration_liveness.h"
#include "cc/flow/loop_variable.h"
#include "cc/rewrite/list_sum.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

constexpr char kAccumulateIf[] = "TensorArrayGrad>ListAccumulateIf";

// The rule matches backwards from each AddN of a loop iteration: its operand is a Merge, one input
// of which is a one-element list as in AccumulateIntoListRule, and the other is ZerosLike. Both
// come from Switches by one predicate, in different branches. IterationLiveness proves that the
// inputs of these Switches are live in both branches, so that one op can run in place of the two
// branches.

// Whether each of `nodes` except the first is read only by others of `nodes`.
bool ReadEachOtherAlone(const std::vector<Node*>& nodes) {
  for (auto node = nodes.begin() + 1; node != nodes.end(); ++node) {
    for (const Edge* edge : (*node)->out_edges()) {
      if (std::find(nodes.begin(), nodes.end(), edge->dst()) == nodes.end()) return false;
    }
  }
  return true;
}

// Whether `zeros` is ZerosLike of a list in the branch other than `reads`, and that list comes from
// the same Switch input as `like` does in `reads`.
bool AreZerosOfOtherBranch(const Node& zeros, Source like, const Branch& reads) {
  if (zeros.type_string() != "ZerosLike") return false;
  const Source list = InputOf(zeros, 0);
  return BranchOf(list) == reads.Other() && BeforeSwitch(list) == BeforeSwitch(like);
}

// Matches `merge`, whose inputs are the one-element list `one` from one branch and `zeros` from the
// other. On success, the result reads the inputs of the Switches in place of their outputs, and the
// predicate.
std::optional<Addend> MatchBranches(Node* merge, Addend one, Node* zeros, const Node& add,
                                    const IterationLiveness& liveness) {
  const Source like = one.inputs.back();
  const Branch reads = BranchOf(like);
  if (one.op.op() != kAccumulateLike || reads.predicate.node == nullptr ||
      !AreZerosOfOtherBranch(*zeros, like, reads)) {
    return std::nullopt;
  }
  one.nodes.insert(one.nodes.begin(), {merge, zeros});
  if (!ReadEachOtherAlone(one.nodes)) return std::nullopt;
  for (const Node* node : one.nodes) {
    const Branch branch = node == zeros ? reads.Other() : reads;
    if (!liveness.WaitsForBranchAlone(*node, branch)) return std::nullopt;
  }
  one.nodes.push_back(InputOf(*zeros, 0).node);
  for (Source& input : one.inputs) {
    if (!liveness.IsBroughtInto(reads, input)) return std::nullopt;
    one.nodes.push_back(input.node);
    input = BeforeSwitch(input);
  }
  for (const Node* node : one.nodes) {
    if (!OnSameDevice(*node, add)) return std::nullopt;
  }
  one.inputs.push_back(reads.predicate);
  one.op.set_op(kAccumulateIf);
  (*one.op.mutable_attr())["wanted"].set_b(reads.side == 1);
  one.waits = false;
  return one;
}

// Matches operand `operand` of `add`, if it is a Merge of two branches as above.
std::optional<Addend> MatchConditional(const Node& add, int operand,
                                       const IterationLiveness& liveness) {
  Node* const merge = InputOf(add, operand).node;
  if (merge->type_string() != "Merge" || merge->num_inputs() != 2 || !HasOneConsumer(*merge) ||
      !WaitsForNothing(*merge)) {
    return std::nullopt;
  }
  for (int side = 0; side < 2; ++side) {
    auto one = MatchOneElementList(InputOf(*merge, side), add);
    if (one) return MatchBranches(merge, *one, InputOf(*merge, 1 - side).node, add, liveness);
  }
  return std::nullopt;
}

}  // namespace

absl::Status ConditionalRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  if (!CarriesList(LoopVariablesOf(*node), *graph)) return absl::OkStatus();
  const IterationLiveness liveness(*node);
  std::vector<Node*> sums;
  for (Node* candidate : liveness.nodes()) {
    if (candidate->type_string() == "AddN" && candidate->output_type(0) == tensorflow::DT_VARIANT) {
      sums.push_back(candidate);
    }
  }
  for (Node* sum : sums) {
    std::map<int, Addend> addends;
    for (int i = 0; i < sum->num_inputs(); ++i) {
      if (auto addend = MatchConditional(*sum, i, liveness)) addends.emplace(i, *addend);
    }
    const absl::Status replaced = AccumulateInstead(sum, std::move(addends), graph, done);
    if (!replaced.ok()) return replaced;
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
