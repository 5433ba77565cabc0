#include "cc/graph/pivot_rule.h"

#include <algorithm>
#include <string>

#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "cc/graph/step_liveness.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;

// Whether `node` is dead where `branch` is not taken, whatever `except` and its waits are.
bool HasDataFrom(const Branch& branch, const Node& node, const Node* except,
                 const StepLiveness& liveness) {
  if (node.IsMerge()) return false;
  return std::any_of(node.in_edges().begin(), node.in_edges().end(), [&](const Edge* edge) {
    return !edge->IsControlEdge() && edge->src() != except &&
           liveness.IsOn(branch, {edge->src(), edge->src_output()});
  });
}

// Whether nobody can tell `constant` from one that is alive where `branch` is not taken.
bool OnlyFeedsThatBranch(const Node& constant, const Branch& branch, const StepLiveness& liveness) {
  for (const Edge* edge : constant.out_edges()) {
    if (!HasDataFrom(branch, *edge->dst(), &constant, liveness)) return false;
  }
  return true;
}

// A Const that waits for `pivot` and for nothing else.
bool IsConstantOf(const Node& node, const Node& pivot) {
  if (!node.IsConstant()) return false;
  return std::all_of(node.in_edges().begin(), node.in_edges().end(),
                     [&](const Edge* edge) { return edge->src() == &pivot; });
}

// Lets the readers of an Identity that waits for nothing read what it reads. One without readers
// stays: it may be a pivot that is still to come.
absl::Status ReadPast(Node* identity, Graph* graph) {
  const Source from = InputOf(*identity, 0);
  const bool plain = WaitsForNothing(*identity) && !IsWaitedFor(*identity) && IsUsed(*identity) &&
                     OnSameDevice(*from.node, *identity) &&
                     !tensorflow::IsRefType(from.node->output_type(from.slot));
  if (!plain) return absl::OkStatus();
  const absl::Status moved = MoveOutput(identity, 0, from, graph);
  if (!moved.ok()) return moved;
  graph->RemoveNode(identity);
  return absl::OkStatus();
}

// Removes what `pivot` was made of, if nobody uses it.
void RemovePivot(Node* pivot, Graph* graph) {
  Node* const from = InputOf(*pivot, 0).node;
  const bool gate = InputOf(*from, 1).node->IsLoopCond();
  if (IsUsed(*pivot)) return;
  graph->RemoveNode(pivot);
  if (!gate) RemoveIfUnused(from, graph);
}

// Takes away the waits for `pivot` that say nothing new; returns how many.
absl::StatusOr<int> FreeThoseWhoWait(Node* pivot, const StepLiveness& liveness, Graph* graph) {
  const Branch branch = BranchOfPivot(*pivot);
  Node* const gated = InputOf(*InputOf(*pivot, 0).node, 0).node;
  std::vector<const Edge*> waits;
  for (const Edge* edge : pivot->out_edges()) {
    if (edge->IsControlEdge() && !edge->dst()->IsSink()) waits.push_back(edge);
  }
  // In one order: edges have none of their own.
  std::sort(waits.begin(), waits.end(),
            [](const Edge* a, const Edge* b) { return a->dst()->id() < b->dst()->id(); });
  int freed = 0;
  for (const Edge* edge : waits) {
    Node* const waiter = edge->dst();
    if (HasDataFrom(branch, *waiter, nullptr, liveness)) {
      graph->RemoveControlEdge(edge);
      ++freed;
      if (!waiter->IsIdentity()) continue;
      const absl::Status past = ReadPast(waiter, graph);
      if (!past.ok()) return past;
    } else if (IsConstantOf(*waiter, *pivot) && OnSameDevice(*gated, *waiter) &&
               OnlyFeedsThatBranch(*waiter, branch, liveness)) {
      graph->RemoveControlEdge(edge);
      graph->AddControlEdge(gated, waiter);
      ++freed;
    }
  }
  return freed;
}

}  // namespace

absl::Status PivotRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  if (!CarriesList(LoopVariablesOf(*node), *graph)) return absl::OkStatus();
  const StepLiveness liveness(*node);
  std::vector<Node*> pivots;
  for (Node* candidate : liveness.nodes()) {
    if (BranchOfPivot(*candidate).predicate.node != nullptr &&
        (IsWaitedFor(*candidate) || !IsUsed(*candidate))) {
      pivots.push_back(candidate);
    }
  }
  for (Node* pivot : pivots) {
    const std::string name = pivot->name();
    const auto freed = FreeThoseWhoWait(pivot, liveness, graph);
    if (!freed.ok()) return freed.status();
    if (*freed > 0) done->push_back({name, InputOf(*pivot, 0).node->name()});
    RemovePivot(pivot, graph);
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
