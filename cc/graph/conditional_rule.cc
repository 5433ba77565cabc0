#include "cc/graph/conditional_rule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cc/graph/list_sum.h"
#include "cc/graph/loop_variable.h"
#include "cc/graph/step_liveness.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;

constexpr char kAccumulateLike[] = "TensorArrayGrad>ListAccumulateLike";
constexpr char kAccumulateIf[] = "TensorArrayGrad>ListAccumulateIf";

// The branch whose Switch `source` comes from; a null predicate if it comes from elsewhere.
Branch BranchOf(Source source) {
  if (source.node->type_string() != "Switch") return {{nullptr, 0}, 0};
  return {InputOf(*source.node, 1), source.slot};
}

bool operator==(const Branch& a, const Branch& b) {
  return a.predicate == b.predicate && a.side == b.side;
}

// What goes into the Switch that `source` comes out of.
Source BeforeSwitch(Source source) { return InputOf(*source.node, 0); }

// Whether `node` waits for nothing but to be in a branch by `predicate`.
bool WaitsForBranchAlone(const Node& node, Source predicate) {
  return std::all_of(node.in_edges().begin(), node.in_edges().end(), [&](const Edge* edge) {
    return !edge->IsControlEdge() || edge->src()->IsSource() ||
           BranchOfPivot(*edge->src()).predicate == predicate;
  });
}

// Whether nobody but the others of `nodes` reads a node but the first.
bool ReadEachOtherAlone(const std::vector<Node*>& nodes) {
  for (auto node = nodes.begin() + 1; node != nodes.end(); ++node) {
    for (const Edge* edge : (*node)->out_edges()) {
      if (std::find(nodes.begin(), nodes.end(), edge->dst()) == nodes.end()) return false;
    }
  }
  return true;
}

// The addend that `merge` is, if `one` is the list that its input `side_of_one` brings.
std::optional<Addend> MatchBranches(Node* merge, Addend one, Source zeros, const Node& add,
                                    const StepLiveness& liveness) {
  const Source like = one.inputs.back();
  const Branch reads = BranchOf(like);
  if (one.op.op() != kAccumulateLike || reads.predicate.node == nullptr) return std::nullopt;
  if (zeros.node->type_string() != "ZerosLike" || !OnSameDevice(*zeros.node, add)) {
    return std::nullopt;
  }
  const Source other = InputOf(*zeros.node, 0);
  if (!(BranchOf(other) == Branch{reads.predicate, 1 - reads.side}) ||
      !(BeforeSwitch(other) == BeforeSwitch(like))) {
    return std::nullopt;
  }
  one.nodes.insert(one.nodes.begin(), {merge, zeros.node});
  if (!ReadEachOtherAlone(one.nodes)) return std::nullopt;
  for (const Node* node : one.nodes) {
    if (!WaitsForBranchAlone(*node, reads.predicate)) return std::nullopt;
  }
  for (Source& input : one.inputs) {
    if (!(BranchOf(input) == reads) || !OnSameDevice(*input.node, add) ||
        !liveness.FollowsFrom(BeforeSwitch(input), {reads.predicate})) {
      return std::nullopt;
    }
    one.nodes.push_back(input.node);
    input = BeforeSwitch(input);
  }
  one.nodes.push_back(other.node);
  one.inputs.push_back(reads.predicate);
  one.op.set_op(kAccumulateIf);
  (*one.op.mutable_attr())["wanted"].set_b(reads.side == 1);
  one.waiters.clear();
  return one;
}

std::optional<Addend> MatchConditional(const Node& add, int operand, const StepLiveness& liveness) {
  Node* const merge = InputOf(add, operand).node;
  if (merge->type_string() != "Merge" || merge->num_inputs() != 2 || !HasOneConsumer(*merge) ||
      !WaitsForNothing(*merge) || !OnSameDevice(*merge, add)) {
    return std::nullopt;
  }
  for (int side = 0; side < 2; ++side) {
    auto one = MatchOneElementList(InputOf(*merge, side), add);
    if (one) return MatchBranches(merge, *one, InputOf(*merge, 1 - side), add, liveness);
  }
  return std::nullopt;
}

}  // namespace

absl::Status ConditionalRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  if (!CarriesList(LoopVariablesOf(*node), *graph)) return absl::OkStatus();
  const StepLiveness liveness(*node);
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
    if (static_cast<int>(addends.size()) == sum->num_inputs()) addends.erase(addends.begin());
    if (addends.empty()) continue;
    const absl::Status replaced = AccumulateInstead(sum, addends, graph, done);
    if (!replaced.ok()) return replaced;
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
