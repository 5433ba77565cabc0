#include "cc/flow/iteration_liveness.h"

#include <algorithm>
#include <iterator>

#include "cc/flow/graph_names.h"

namespace tensor_array_grad {
namespace {

// A condition is a number that encodes an output and, in the last two bits, a requirement: 0 or 1
// requires that the output, as a predicate, selects this side, and kAlive that the output is live.
constexpr int kAlive = 2;

// A node with more conditions gets the single condition that it is live.
constexpr size_t kMostConditions = 64;

int64_t Condition(Source source, int side) {
  return (static_cast<int64_t>(source.node->id()) << 24) | (int64_t{source.slot} << 2) | side;
}

using Conditions = std::vector<int64_t>;

bool IsSubset(const Conditions& a, const Conditions& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

Conditions Union(const Conditions& a, const Conditions& b) {
  Conditions both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

Conditions Without(const Conditions& a, const Conditions& b) {
  Conditions rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

// Whether `a` and `b` are the two sides of one predicate, so that one of them always holds.
bool AreOpposite(const Conditions& a, const Conditions& b) {
  return a.size() == 1 && b.size() == 1 && (a[0] ^ b[0]) == 1 && (a[0] & kAlive) == 0;
}

}  // namespace

Branch BranchOf(Source source) {
  if (source.node == nullptr || source.node->type_string() != "Switch") return {{nullptr, 0}, 0};
  return {InputOf(*source.node, 1), source.slot};
}

Branch BranchOfPivot(const Node& node) {
  constexpr Branch kNone{{nullptr, 0}, 0};
  if (!node.IsIdentity() || !WaitsForNothing(node)) return kNone;
  const Source from = InputOf(node, 0);
  return from.node != nullptr && WaitsForNothing(*from.node) ? BranchOf(from) : kNone;
}

Source BeforeSwitch(Source source) { return InputOf(*source.node, 0); }

IterationLiveness::IterationLiveness(const Node& loop_cond) {
  const std::vector<LoopVariable> variables = LoopVariablesOf(loop_cond);
  CollectNodes(variables);
  for (const LoopVariable& variable : variables) conditions_[variable.merge->id()] = {};
  for (Node* node : nodes_) conditions_.try_emplace(node->id(), OfNode(*node));
}

// Visits nodes forward from the variables in topological order. The first loop counts the edges by
// which each node is reached. The second loop lists a node when all of these edges have been
// followed.
void IterationLiveness::CollectNodes(const std::vector<LoopVariable>& variables) {
  NodeIds borders;
  std::vector<Node*> reached;
  for (const LoopVariable& variable : variables) {
    borders.insert(variable.merge->id());
    if (variable.exit != nullptr) borders.insert(variable.exit->id());
    reached.push_back(variable.merge);
  }
  std::vector<Node*> ready = reached;
  const auto follow = [&](const Node& node, auto visit) {
    if (node.IsNextIteration()) return;
    for (const Edge* edge : node.out_edges()) {
      if (!edge->dst()->IsSink() && borders.count(edge->dst()->id()) == 0) visit(edge->dst());
    }
  };
  std::unordered_map<int, int> missing;
  while (!reached.empty()) {
    const Node* const node = reached.back();
    reached.pop_back();
    follow(*node, [&](Node* next) {
      if (missing[next->id()]++ == 0) reached.push_back(next);
    });
  }
  while (!ready.empty()) {
    Node* const node = ready.back();
    ready.pop_back();
    nodes_.push_back(node);
    follow(*node, [&](Node* next) {
      if (--missing[next->id()] == 0) ready.push_back(next);
    });
  }
}

// The conditions of an output: those of its node and, for a Switch, its side.
Conditions IterationLiveness::Of(Source source) const {
  const auto found = conditions_.find(source.node->id());
  if (found == conditions_.end()) {
    // Only loop constants come from outside of the iteration, and they are live in all iterations.
    if (IsConstantEnter(*source.node)) return {};
    return {Condition(source, kAlive)};
  }
  const Branch branch = BranchOf(source);
  if (branch.predicate.node != nullptr) {
    return Union(found->second, {Condition(branch.predicate, branch.side)});
  }
  // Other ops whose outputs may be dead, such as _SwitchN, are not analysed.
  return source.node->IsSwitch() ? Conditions{Condition(source, kAlive)} : found->second;
}

// If the conditions of the two inputs differ only in the side of one predicate, one input is always
// live when the common conditions hold. Any other Merge gets the condition that it is live.
Conditions IterationLiveness::OfMerge(Node& merge) const {
  if (merge.num_inputs() == 2) {
    const Conditions a = Of(InputOf(merge, 0)), b = Of(InputOf(merge, 1));
    const Conditions only_a = Without(a, b);
    if (AreOpposite(only_a, Without(b, a))) return Without(a, only_a);
  }
  return {Condition({&merge, 0}, kAlive)};
}

Conditions IterationLiveness::OfNode(Node& node) const {
  // A Merge waits for control inputs too, but a dead control input does not make it dead.
  if (node.IsMerge()) return OfMerge(node);
  Conditions all;
  for (const Edge* edge : node.in_edges()) {
    if (edge->src()->IsSource()) continue;
    // A control edge from a Switch is live if the Switch ran, whichever side it selected.
    const auto found = conditions_.find(edge->src()->id());
    const bool whole = edge->IsControlEdge() && found != conditions_.end();
    all = Union(all, whole ? found->second : Of({edge->src(), std::max(edge->src_output(), 0)}));
  }
  // The bound keeps the time linear in the number of nodes, however deep branches are nested.
  if (all.size() > kMostConditions) return {Condition({&node, 0}, kAlive)};
  return all;
}

bool IterationLiveness::FollowsFrom(Source source, const std::vector<Source>& others) const {
  Conditions given;
  for (const Source& other : others) given = Union(given, Of(other));
  return IsSubset(Of(source), given);
}

bool IterationLiveness::IsBroughtInto(const Branch& branch, Source source) const {
  return BranchOf(source) == branch && FollowsFrom(BeforeSwitch(source), {branch.predicate});
}

bool IterationLiveness::WaitsForBranchAlone(const Node& node, const Branch& branch) const {
  return WaitsOnlyFor(node, [&](const Node& other) {
    return BranchOfPivot(other) == branch && IsBroughtInto(branch, InputOf(other, 0));
  });
}

}  // namespace tensor_array_grad
