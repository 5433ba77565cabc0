#include "cc/graph/conditional_read_rule.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/graph/loop_variable.h"
#include "cc/graph/step_liveness.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

constexpr char kGetItemIf[] = "TensorArrayGrad>ListGetItemIf";

// A Merge of an element of a list with something else.
struct ConditionalRead {
  Node* merge;
  Node* get_item;
  Branch branch;               // that reads
  std::vector<Source> inputs;  // of our op: those of `get_item`, the predicate, what is not read
  std::vector<Node*> nodes;    // that it needs no more, each before those that feed it
};

// What our op reads where `input` is read in `branch`, or a null node where that may be dead in the
// other one. A constant of the branch is to be copied. Appends the nodes on the way to `passed`.
Source Outside(Source input, const Branch& branch, const StepLiveness& liveness,
               std::vector<Node*>* passed) {
  passed->push_back(input.node);
  while (input.node->IsIdentity() && liveness.WaitsForBranchAlone(*input.node, branch)) {
    input = InputOf(*input.node, 0);
    passed->push_back(input.node);
  }
  if (liveness.IsBroughtInto(branch, input)) return BeforeSwitch(input);
  const bool is_alive =
      (input.node->IsConstant() && liveness.WaitsForBranchAlone(*input.node, branch)) ||
      liveness.FollowsFrom(input, {branch.predicate});
  return is_alive ? input : Source{nullptr, 0};
}

bool IsSlotRead(const Node& node, int slot) {
  const auto& edges = node.out_edges();
  return std::any_of(edges.begin(), edges.end(),
                     [&](const Edge* edge) { return edge->src_output() == slot; });
}

// The read in `branch` that `merge` has on its input `side`.
std::optional<ConditionalRead> MatchIn(const Branch& branch, Node* merge, int side,
                                       const StepLiveness& liveness) {
  Node* const get_item = InputOf(*merge, side).node;
  if (branch.predicate.node == nullptr || !liveness.WaitsForBranchAlone(*get_item, branch)) {
    return std::nullopt;
  }
  ConditionalRead found{merge, get_item, branch, {}, {merge, get_item}};
  for (int i = 0; i < get_item->num_inputs(); ++i) {
    found.inputs.push_back(Outside(InputOf(*get_item, i), branch, liveness, &found.nodes));
  }
  found.inputs.push_back(branch.predicate);
  found.inputs.push_back(
      Outside(InputOf(*merge, 1 - side), branch.Other(), liveness, &found.nodes));
  for (const Source& input : found.inputs) {
    if (input.node == nullptr || !OnSameDevice(*input.node, *merge)) return std::nullopt;
  }
  for (const Node* node : found.nodes) {
    if (!OnSameDevice(*node, *merge)) return std::nullopt;
  }
  return found;
}

std::optional<ConditionalRead> Match(Node* merge, const StepLiveness& liveness) {
  constexpr int kValueIndex = 1;
  if (merge->type_string() != "Merge" || merge->num_inputs() != 2 || !WaitsForNothing(*merge) ||
      IsSlotRead(*merge, kValueIndex)) {
    return std::nullopt;
  }
  for (const int side : {0, 1}) {
    const Node* const get_item = InputOf(*merge, side).node;
    if (get_item->type_string() != "TensorListGetItem" || !HasOneConsumer(*get_item)) continue;
    for (const int brought : {0, 1}) {  // the list, the index
      auto found = MatchIn(BranchOf(InputOf(*get_item, brought)), merge, side, liveness);
      if (found) return found;
    }
  }
  return std::nullopt;
}

// The op, with the name of the read, by which an error finds the user's line.
NodeDef DefOf(const ConditionalRead& read) {
  NodeDef def;
  def.set_op(kGetItemIf);
  def.set_name(read.get_item->name());
  auto& attributes = *def.mutable_attr();
  attributes["element_dtype"] = read.get_item->def().attr().at("element_dtype");
  attributes["wanted"].set_b(read.branch.side == 1);
  return def;
}

// A copy of `constant` that is alive wherever `predicate` is.
absl::StatusOr<Source> CopyBeside(Source predicate, Source constant, Graph* graph) {
  NodeDef def = constant.node->def();
  def.set_name(graph->NewName(def.name()));
  const auto copy = AddReplacement(def, {}, *constant.node, {}, graph);
  if (!copy.ok()) return copy.status();
  graph->AddControlEdge(predicate.node, *copy);
  return Source{*copy, 0};
}

absl::Status Replace(ConditionalRead read, Graph* graph, std::vector<Rewrite>* done) {
  NodeDef def = DefOf(read);
  if (!HasKernelOnDeviceOf(*read.merge, def)) return absl::OkStatus();
  for (Source& input : read.inputs) {
    if (input.node->IsConstant()) {
      const auto copy = CopyBeside(read.branch.predicate, input, graph);
      if (!copy.ok()) return copy.status();
      input = *copy;
    }
    AddInput(input, &def);
  }
  const auto added = AddReplacement(def, read.inputs, *read.get_item, {}, graph);
  if (!added.ok()) return added.status();
  done->push_back({absl::StrCat(read.get_item->name(), ", ", read.merge->name()), def.name()});
  const absl::Status moved = MoveConsumers(read.merge, *added, graph);
  if (!moved.ok()) return moved;
  RemoveUnused(read.nodes, graph);
  return absl::OkStatus();
}

}  // namespace

absl::Status ConditionalReadRule::Apply(Node* node, Graph* graph,
                                        std::vector<Rewrite>* done) const {
  if (!CarriesList(LoopVariablesOf(*node), *graph)) return absl::OkStatus();
  const StepLiveness liveness(*node);
  std::vector<Node*> merges;  // a rewrite removes one, other nodes, but no other Merge
  for (Node* candidate : liveness.nodes()) {
    if (candidate->IsMerge()) merges.push_back(candidate);
  }
  // Before those that feed them: of what the pass made, `liveness` knows nothing.
  for (auto merge = merges.rbegin(); merge != merges.rend(); ++merge) {
    auto read = Match(*merge, liveness);
    if (!read) continue;
    const absl::Status replaced = Replace(std::move(*read), graph, done);
    if (!replaced.ok()) return replaced;
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
