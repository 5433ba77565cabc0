#include "cc/graph/pivot_rule.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "cc/graph/step_liveness.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;

// Tells who is alive only where a pivot is, by data alone.
class FollowersOf {
 public:
  FollowersOf(Node* pivot, const StepLiveness& liveness) : pivot_(pivot), liveness_(liveness) {}

  // Whether the data of `node` says so. That of constants does not count: they may be freed too.
  bool Has(const Node& node) {
    const auto known = known_.find(node.id());
    if (known != known_.end()) return known->second;
    return known_.emplace(node.id(), Find(node)).first->second;
  }

  // Whether nobody can tell `constant` from one that is alive where the pivot is not.
  bool AreAllReadersOf(const Node& constant) {
    const auto& edges = constant.out_edges();
    return std::all_of(edges.begin(), edges.end(),
                       [this](const Edge* edge) { return Has(*edge->dst()); });
  }

 private:
  bool Find(const Node& node) const {
    if (node.IsMerge()) return false;
    std::vector<Source> data;
    for (const Edge* edge : node.in_edges()) {
      if (edge->IsControlEdge() || edge->src()->IsConstant()) continue;
      data.push_back({edge->src(), edge->src_output()});
    }
    return liveness_.FollowsFrom({pivot_, 0}, data);
  }

  Node* const pivot_;
  const StepLiveness& liveness_;
  std::unordered_map<int, bool> known_;  // by Node::id()
};

// A Const that waits for `pivot` and for nothing else.
bool IsConstantOf(const Node& node, const Node& pivot) {
  if (!node.IsConstant()) return false;
  return std::all_of(node.in_edges().begin(), node.in_edges().end(),
                     [&](const Edge* edge) { return edge->src() == &pivot; });
}

// Lets the readers of an Identity that waits for nothing read what it reads.
absl::Status ReadPast(Node* identity, Graph* graph) {
  const Source from = InputOf(*identity, 0);
  const bool plain = WaitsForNothing(*identity) && !IsWaitedFor(*identity) &&
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
  if (IsUsed(*pivot)) return;
  Node* const from = InputOf(*pivot, 0).node;
  graph->RemoveNode(pivot);
  // The gates of the loop stay, and a constant of the loop keeps a reader (InvariantRule says why).
  if (InputOf(*from, 1).node->IsLoopCond() || InputOf(*from, 0).node->IsEnter()) return;
  RemoveIfUnused(from, graph);
}

// Takes away the waits for `pivot` that say nothing new; returns how many.
absl::StatusOr<int> FreeThoseWhoWait(Node* pivot, const StepLiveness& liveness, Graph* graph) {
  FollowersOf followers(pivot, liveness);
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
    if (followers.Has(*waiter)) {
      graph->RemoveControlEdge(edge);
      ++freed;
      if (!waiter->IsIdentity()) continue;
      const absl::Status past = ReadPast(waiter, graph);
      if (!past.ok()) return past;
    } else if (IsConstantOf(*waiter, *pivot) && OnSameDevice(*gated, *waiter) &&
               followers.AreAllReadersOf(*waiter)) {
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
  std::vector<int> pivots;  // by id: one may go before its turn, and another node have its place
  for (const Node* candidate : liveness.nodes()) {
    if (BranchOfPivot(*candidate).predicate.node != nullptr &&
        (IsWaitedFor(*candidate) || !IsUsed(*candidate))) {
      pivots.push_back(candidate->id());
    }
  }
  for (const int id : pivots) {
    Node* const pivot = graph->FindNodeId(id);
    if (pivot == nullptr || BranchOfPivot(*pivot).predicate.node == nullptr) continue;
    const auto freed = FreeThoseWhoWait(pivot, liveness, graph);
    if (!freed.ok()) return freed.status();
    if (*freed > 0) done->push_back({pivot->name(), InputOf(*pivot, 0).node->name()});
    RemovePivot(pivot, graph);
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
