#include "cc/compile/waiting_nodes.h"

#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "cc/compile/eligibility.h"
#include "cc/flow/function_search.h"
#include "cc/flow/node_util.h"
#include "cc/flow/op_facts.h"

namespace tensor_array_grad {
namespace {

using Nodes = std::vector<const Node*>;

// A set of nodes, by their ids.
using NodeSet = std::vector<bool>;

// Whether `node` makes a resource, for which nothing has to wait.
bool MakesResource(const Node& node) {
  return node.num_inputs() == 0 && !node.IsRecv() &&
         absl::c_all_of(node.output_types(), [](DataType dtype) {
           return dtype == DT_RESOURCE || tensorflow::IsRefType(dtype);
         });
}

bool MayWaitForOthers(const Node& node, const tensorflow::FunctionLibraryDefinition* library) {
  if (node.IsSend() || node.IsRecv()) return true;
  const bool may = node.op_def().is_stateful() || IsFunctionCall(node) ||
                   HasFact(node, kEndsLater | kCallsPython | kCallsFunctions);
  if (!may || node.IsArg() || node.IsRetval() || MakesResource(node)) return false;
  if (HasFact(node, kTakesLock)) return false;
  FunctionNames seen;
  return FindReachable(node.def(), library, MayWait, &seen) != nullptr;
}

// The nodes to which a path of one edge or more leads from one of `from`, or from which one leads
// there if `backwards`. No path leads into a node of `barred`.
NodeSet Reach(Nodes from, const NodeSet& barred, bool backwards = false) {
  NodeSet reached(barred.size());
  while (!from.empty()) {
    const Node* const node = from.back();
    from.pop_back();
    for (const Edge* edge : backwards ? node->in_edges() : node->out_edges()) {
      const Node* const next = backwards ? edge->src() : edge->dst();
      if (!next->IsOp() || barred[next->id()] || reached[next->id()]) continue;
      reached[next->id()] = true;
      from.push_back(next);
    }
  }
  return reached;
}

bool HasAll(const NodeSet& set, const Nodes& nodes) {
  return absl::c_all_of(nodes, [&](const Node* node) { return set[node->id()]; });
}

}  // namespace

WaitingNodes::WaitingNodes(const Frame& root,
                           const tensorflow::FunctionLibraryDefinition* library) {
  std::vector<Node*> all;
  CollectNodes(root, &all);
  for (const Node* node : all) {
    ids_ = std::max(ids_, node->id() + 1);
    if (MayWaitForOthers(*node, library)) nodes_.push_back(node);
  }
}

WaitingNodes::Sides WaitingNodes::SidesOf(const Frame& loop) const {
  std::vector<Node*> all;
  CollectNodes(loop, &all);
  NodeSet of_loop(ids_);
  for (const Node* node : all) of_loop[node->id()] = true;
  Sides sides;
  absl::c_copy_if(nodes_, std::back_inserter(sides.inside),
                  [&](const Node* node) { return of_loop[node->id()]; });
  if (nodes_.size() < 2 && sides.inside.empty()) return sides;  // the common case
  Nodes exits;
  absl::c_copy_if(loop.nodes, std::back_inserter(exits), [](const Node* n) { return n->IsExit(); });
  const NodeSet upstream = Reach({loop.enters.begin(), loop.enters.end()}, NodeSet(ids_), true);
  const NodeSet downstream = Reach(exits, NodeSet(ids_));
  for (const Node* node : nodes_) {
    if (of_loop[node->id()]) continue;
    if (upstream[node->id()]) sides.before.push_back(node);
    if (downstream[node->id()]) sides.after.push_back(node);
  }
  return sides;
}

absl::Status WaitingNodes::Check(const Frame& loop) const {
  constexpr char kReason[] = "ops may wait for each other";
  const Sides sides = SidesOf(loop);
  Nodes first = sides.before, later = sides.inside;
  first.insert(first.end(), sides.inside.begin(), sides.inside.end());
  later.insert(later.end(), sides.after.begin(), sides.after.end());
  if (later.empty()) return absl::OkStatus();
  // That each node of the loop leads to each puts those of one iteration before those of the next.
  for (const Node* node : first) {
    if (!HasAll(Reach({node}, NodeSet(ids_)), later)) return Rejected(kReason, *node);
  }
  // In the same iteration, one of two nodes leads to the other.
  NodeSet nexts(ids_);
  for (const Node* node : loop.nodes) nexts[node->id()] = node->IsNextIteration();
  for (const Node* node : sides.inside) {
    NodeSet comparable = Reach({node}, nexts);
    const NodeSet before = Reach({node}, nexts, true);
    for (int id = 0; id < ids_; ++id) comparable[id] = comparable[id] || before[id];
    comparable[node->id()] = true;
    if (!HasAll(comparable, sides.inside)) return Rejected(kReason, *node);
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
