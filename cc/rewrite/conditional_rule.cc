#include "cc/rewrite/rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cc/flow/graph_names.h"
#include "cc/flow/liveness.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/list_sum.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

constexpr char kAccumulateIf[] = "TensorArrayGrad>ListAccumulateIf";

// The rule matches backwards from each AddN of a loop iteration: its operand is a Merge, one input
// of which is a one-element list as in AccumulateIntoListRule, and the other is ZerosLike. Both
// come from Switches by one predicate, in different branches. Liveness proves that the inputs of
// these Switches are live in both branches, so that one op can run in place of the two branches.

// One side of the Switches by `predicate`.
struct Branch {
  Source predicate;  // its node is null for no branch
  int side;

  bool operator==(const Branch& other) const {
    return predicate == other.predicate && side == other.side;
  }
  Branch Other() const { return {predicate, 1 - side}; }
};

// The branch in which `source` is live, if it is an output of a Switch; else none.
Branch BranchOf(Source source) {
  if (source.node == nullptr || source.node->type_string() != "Switch") return {{nullptr, 0}, 0};
  return {InputOf(*source.node, 1), source.slot};
}

// The data input of the Switch of which `source` is an output. Requires: it is one.
Source BeforeSwitch(Source source) { return InputOf(*source.node, 0); }

// The branch of which `node` is a pivot, or none. An Identity does not count if it or the Switch
// has a control input, because then more than the branch decides whether it is live.
Branch BranchOfPivot(const Node& node) {
  constexpr Branch kNone{{nullptr, 0}, 0};
  if (!node.IsIdentity() || !WaitsForNothing(node)) return kNone;
  const Source from = InputOf(node, 0);
  return from.node != nullptr && WaitsForNothing(*from.node) ? BranchOf(from) : kNone;
}

// Whether `source` is an output of a Switch of `branch` whose data input is live whenever the
// predicate is, and so also if the other branch is taken.
bool IsBroughtInto(const Branch& branch, Source source, const Liveness& liveness) {
  return BranchOf(source) == branch && liveness.FollowsFrom(BeforeSwitch(source), branch.predicate);
}

// Whether all control inputs of `node` are pivots of `branch` that are live whenever it is taken.
bool WaitsForBranchAlone(const Node& node, const Branch& branch, const Liveness& liveness) {
  return WaitsOnlyFor(node, [&](const Node& other) {
    return BranchOfPivot(other) == branch && IsBroughtInto(branch, InputOf(other, 0), liveness);
  });
}

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
                                    const Liveness& liveness) {
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
    if (!WaitsForBranchAlone(*node, branch, liveness)) return std::nullopt;
  }
  one.nodes.push_back(InputOf(*zeros, 0).node);
  for (Source& input : one.inputs) {
    if (!IsBroughtInto(reads, input, liveness)) return std::nullopt;
    one.nodes.push_back(input.node);
    input = BeforeSwitch(input);
  }
  for (const Node* node : one.nodes) {
    if (!OnSameDevice(*node, add)) return std::nullopt;
  }
  one.inputs.push_back(reads.predicate);
  one.op.set_op(kAccumulateIf);
  (*one.op.mutable_attr())["wanted"].set_b(reads.side == 1);
  one.waits = one.has_stock_form = false;
  return one;
}

// Matches operand `operand` of `add`, if it is a Merge of two branches as above.
std::optional<Addend> MatchConditional(const Node& add, int operand, const Liveness& liveness) {
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

bool IsSumOfLists(const Node& node) {
  return node.type_string() == "AddN" && node.output_type(0) == tensorflow::DT_VARIANT;
}

// Whether a sum of lists has an operand that is a Merge. If none has, the liveness of the graph
// need not be found.
bool HasSumOfBranches(const Graph& graph) {
  const auto nodes = graph.op_nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    if (!IsSumOfLists(*node)) return false;
    const auto& edges = node->in_edges();
    return std::any_of(edges.begin(), edges.end(),
                       [](const Edge* edge) { return edge->src()->IsMerge(); });
  });
}

// A sum, and those of its operands that the rule replaces.
struct Match {
  Node* sum;
  std::map<int, Addend> addends;
};

std::vector<Match> MatchesIn(const LoopLiveness& found) {
  std::vector<Match> matches;
  for (Node* node : found.loop->nodes) {
    if (!IsSumOfLists(*node)) continue;
    Match match{node, {}};
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (auto addend = MatchConditional(*node, i, found.liveness))
        match.addends.emplace(i, *addend);
    }
    if (!match.addends.empty()) matches.push_back(std::move(match));
  }
  return matches;
}

// All sums are matched before the first is replaced, because Liveness does not follow the changes
// of the graph. So a later sum is left alone if it reads one that is gone.
absl::Status ApplyConditional(Node* node, Graph* graph, std::vector<Rewrite>* done) {
  if (!HasSumOfBranches(*graph)) return absl::OkStatus();
  const auto found = LoopLiveness::Of(*graph, *node);
  if (!found.ok()) return absl::OkStatus();
  std::set<const Node*> gone;
  for (Match& match : MatchesIn(*found)) {
    const bool reads_gone =
        std::any_of(match.addends.begin(), match.addends.end(), [&gone](const auto& addend) {
          const std::vector<Source>& inputs = addend.second.inputs;
          return std::any_of(inputs.begin(), inputs.end(),
                             [&gone](const Source& input) { return gone.count(input.node) != 0; });
        });
    if (reads_gone) continue;
    gone.insert(match.sum);
    TF_RETURN_IF_ERROR(AccumulateInstead(match.sum, std::move(match.addends), graph, done));
  }
  return absl::OkStatus();
}

}  // namespace

Rule ConditionalRule() { return {"conditional", "LoopCond", ApplyConditional}; }

}  // namespace tensor_array_grad
