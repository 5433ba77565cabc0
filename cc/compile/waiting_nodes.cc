#include "cc/compile/waiting_nodes.h"

#include <iterator>
#include <set>

#include "absl/algorithm/container.h"
#include "cc/compile/eligibility.h"
#include "cc/flow/function_search.h"
#include "cc/flow/node_util.h"
#include "cc/flow/op_facts.h"

namespace tensor_array_grad {
namespace {

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

// The nodes of `loop`, and its Enters.
std::vector<Node*> NodesOf(const Frame& loop) {
  std::vector<Node*> nodes = loop.enters;
  CollectNodes(loop, &nodes);
  return nodes;
}

// Whether `inner` is `outer` or a loop inside of it.
bool IsWithin(const Frame* inner, const Frame& outer) {
  while (inner != nullptr && inner != &outer) inner = inner->parent;
  return inner != nullptr;
}

// The innermost frame around both.
const Frame& Common(const Frame* one, const Frame& other) {
  while (!IsWithin(&other, *one)) one = one->parent;
  return *one;
}

}  // namespace

WaitingNodes::WaitingNodes(const Frame& root,
                           const tensorflow::FunctionLibraryDefinition* library) {
  Add(root, library);
}

void WaitingNodes::Add(const Frame& frame, const tensorflow::FunctionLibraryDefinition* library) {
  for (const Node* node : frame.nodes) {
    const size_t id = node->id();
    if (id >= nexts_.size()) nexts_.resize(id + 1);
    nexts_[id] = node->IsNextIteration();
    if (MayWaitForOthers(*node, library)) nodes_.push_back({node, &frame, nodes_.size()});
  }
  for (const Frame* loop : frame.children) Add(*loop, library);
  run_loops_.resize(nexts_.size());
}

WaitingNodes::NodeSet WaitingNodes::Reach(Nodes from, const NodeSet& ends, Along along) const {
  NodeSet reached(ends.size());
  std::set<const Frame*> run_loops;
  const auto add = [&](const Node* node) {
    if (!node->IsOp() || reached[node->id()]) return;
    reached[node->id()] = true;
    if (!ends[node->id()]) from.push_back(node);
  };
  while (!from.empty()) {
    const Node* const node = from.back();
    from.pop_back();
    for (const Edge* edge : along == Along::kBackwards ? node->in_edges() : node->out_edges()) {
      add(along == Along::kBackwards ? edge->src() : edge->dst());
    }
    const Frame* const loop = along == Along::kEdges ? nullptr : run_loops_[node->id()];
    if (loop == nullptr || !run_loops.insert(loop).second) continue;
    for (const Node* other : NodesOf(*loop)) add(other);
  }
  return reached;
}

WaitingNodes::NodeSet WaitingNodes::Only(const NodeSet& reached) const {
  NodeSet waiting;
  for (const Waiting& each : nodes_) waiting.push_back(reached[each.node->id()]);
  return waiting;
}

const WaitingNodes::Later& WaitingNodes::After(const Waiting& first, const Frame& frame) {
  const auto [found, is_new] = after_.try_emplace({first.index, &frame});
  if (!is_new) return found->second;
  NodeSet reached = Reach({first.node}, nexts_, Along::kEdges);
  for (const Frame* inner = first.frame;; inner = inner->parent) {
    Nodes from;
    for (const Node* node : inner->nodes) {
      if (nexts_[node->id()] && reached[node->id()]) from.push_back(node);
    }
    const NodeSet next = Reach(from, nexts_, Along::kEdges);
    if (inner == &frame) {
      found->second = {Only(reached), Only(next)};
      return found->second;
    }
    for (size_t id = 0; id < next.size(); ++id) reached[id] = reached[id] || next[id];
  }
}

WaitingNodes::Sides WaitingNodes::SidesOf(const Frame& loop) const {
  Sides sides;
  for (const Waiting& each : nodes_) {
    if (IsWithin(each.frame, loop)) sides.inside.push_back(&each);
  }
  if (nodes_.size() < 2 && sides.inside.empty()) return sides;  // the common case
  NodeSet ends(nexts_.size());
  for (const Frame* outer = loop.parent; outer != nullptr; outer = outer->parent) {
    for (const Node* node : outer->nodes) ends[node->id()] = nexts_[node->id()];
  }
  Nodes exits;
  absl::c_copy_if(loop.nodes, std::back_inserter(exits), [](const Node* n) { return n->IsExit(); });
  const NodeSet before = Reach({loop.enters.begin(), loop.enters.end()}, ends, Along::kBackwards);
  const NodeSet after = Reach(exits, ends, Along::kForwards);
  for (const Waiting& each : nodes_) {
    if (IsWithin(each.frame, loop)) continue;
    if (before[each.node->id()]) sides.before.push_back(&each);
    if (after[each.node->id()]) sides.after.push_back(&each);
  }
  return sides;
}

bool WaitingNodes::LeadsTo(const Waiting& first, const Waiting& later, const Frame& frame) {
  return After(first, Common(first.frame, frame)).same[later.index];
}

bool WaitingNodes::AreInOrder(const Waiting& first, const Waiting& other, const Frame& loop) {
  const Frame& common = Common(first.frame, *other.frame);
  const bool apart =
      &first != &other && !LeadsTo(first, other, common) && !LeadsTo(other, first, common);
  for (const Frame* frame = &common; !apart; frame = frame->parent) {
    if (!After(first, *frame).next[other.index]) return false;
    if (frame == &loop) return true;
  }
  return false;
}

absl::Status WaitingNodes::Check(const Frame& loop) {
  const auto rejected = [](const Waiting* first, const Waiting* later) {
    return Rejected("ops may wait for each other", *first->node, later->node);
  };
  const Sides sides = SidesOf(loop);
  Several behind = sides.inside;
  behind.insert(behind.end(), sides.after.begin(), sides.after.end());
  for (const Waiting* first : sides.before) {
    for (const Waiting* later : behind) {
      if (!LeadsTo(*first, *later, *loop.parent)) return rejected(first, later);
    }
  }
  for (const Waiting* first : sides.inside) {
    for (const Waiting* later : sides.after) {
      if (!LeadsTo(*first, *later, *loop.parent)) return rejected(first, later);
    }
    for (const Waiting* other : sides.inside) {
      if (!AreInOrder(*first, *other, loop)) return rejected(first, other);
    }
  }
  for (const Node* node : NodesOf(loop)) run_loops_[node->id()] = &loop;
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
