#include "cc/compile/waiting_nodes.h"

#include <unordered_set>

#include "absl/algorithm/container.h"
#include "cc/compile/eligibility.h"
#include "cc/flow/function_search.h"
#include "cc/flow/node_util.h"
#include "cc/flow/op_facts.h"

namespace tensor_array_grad {
namespace {

using NodeSet = std::unordered_set<const Node*>;

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
NodeSet Reach(const std::vector<const Node*>& from, const NodeSet& barred, bool backwards = false) {
  NodeSet reached;
  std::vector<const Node*> open = from;
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    for (const Edge* edge : backwards ? node->in_edges() : node->out_edges()) {
      const Node* const next = backwards ? edge->src() : edge->dst();
      if (next->IsOp() && barred.count(next) == 0 && reached.insert(next).second) {
        open.push_back(next);
      }
    }
  }
  return reached;
}

bool HasAll(const NodeSet& set, const std::vector<const Node*>& nodes) {
  return absl::c_all_of(nodes, [&](const Node* node) { return set.count(node) != 0; });
}

}  // namespace

WaitingNodes::WaitingNodes(const Frame& root,
                           const tensorflow::FunctionLibraryDefinition* library) {
  std::vector<Node*> all;
  CollectNodes(root, &all);
  absl::c_copy_if(all, std::back_inserter(nodes_),
                  [&](const Node* node) { return MayWaitForOthers(*node, library); });
}

absl::Status WaitingNodes::Check(const Frame& loop) const {
  if (nodes_.empty()) return absl::OkStatus();
  std::vector<Node*> all;
  CollectNodes(loop, &all);
  const NodeSet of_loop(all.begin(), all.end());
  std::vector<const Node*> exits;
  NodeSet nexts;
  for (const Node* node : loop.nodes) {
    if (node->IsExit()) exits.push_back(node);
    if (node->IsNextIteration()) nexts.insert(node);
  }
  const NodeSet upstream = Reach({loop.enters.begin(), loop.enters.end()}, {}, true);
  const NodeSet downstream = Reach(exits, {});
  std::vector<const Node*> before, inside, after;
  for (const Node* node : nodes_) {
    if (of_loop.count(node) != 0) {
      inside.push_back(node);
    } else {
      if (upstream.count(node) != 0) before.push_back(node);
      if (downstream.count(node) != 0) after.push_back(node);
    }
  }
  constexpr char kReason[] = "ops may wait for each other";
  for (const Node* node : before) {
    const NodeSet reached = Reach({node}, {});
    if (!HasAll(reached, inside) || !HasAll(reached, after)) return Rejected(kReason, *node);
  }
  // In the next iteration each node comes after each node of this one. In the same iteration one of
  // two nodes comes first.
  for (const Node* node : inside) {
    const NodeSet reached = Reach({node}, {});
    if (!HasAll(reached, inside) || !HasAll(reached, after)) return Rejected(kReason, *node);
    const NodeSet in_iteration = Reach({node}, nexts);
    const NodeSet before_it = Reach({node}, nexts, true);
    for (const Node* other : inside) {
      if (other != node && in_iteration.count(other) + before_it.count(other) == 0) {
        return Rejected(kReason, *node);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
