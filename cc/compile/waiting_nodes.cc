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

// Whether `inner` is `outer` or a loop inside of it.
bool IsWithin(const Frame* inner, const Frame& outer) {
  while (inner != nullptr && inner != &outer) inner = inner->parent;
  return inner != nullptr;
}

// The innermost frame around both.
const Frame& Common(const Frame& one, const Frame& other) {
  const Frame* frame = &one;
  while (!IsWithin(&other, *frame)) frame = frame->parent;
  return *frame;
}

// Calls `add` for the Exits of a variable, given its NextIteration, Merge or Switch, or of all
// variables, given LoopCond.
template <typename Add>
void ForEachExit(const Node& node, const Add& add) {
  for (const Edge* edge : node.out_edges()) {
    const Node* const next = edge->dst();
    if (node.IsSwitch()) {
      if (next->IsExit()) add(next);
    } else if (node.IsNextIteration() ? next->IsMerge() : next->IsSwitch()) {
      ForEachExit(*next, add);
    }
  }
}

}  // namespace

WaitingNodes::WaitingNodes(const Frame& root,
                           const tensorflow::FunctionLibraryDefinition* library) {
  Add(root, library);
}

void WaitingNodes::Add(const Frame& frame, const tensorflow::FunctionLibraryDefinition* library) {
  for (const Node* node : frame.nodes) {
    const size_t id = node->id();
    if (id >= run_loops_.size()) run_loops_.resize(id + 1);
    if (MayWaitForOthers(*node, library)) nodes_.push_back({node, &frame, nodes_.size()});
  }
  for (const Frame* loop : frame.children) Add(*loop, library);
}

WaitingNodes::NodeSet WaitingNodes::NextsOf(const Frame& frame) const {
  NodeSet nexts(run_loops_.size());
  for (const Frame* around = &frame; around != nullptr; around = around->parent) {
    for (const Node* node : around->nodes) nexts[node->id()] = node->IsNextIteration();
  }
  return nexts;
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
    const bool leaves = along == Along::kEdges && node->IsSwitch();
    for (const Edge* edge : along == Along::kBackwards ? node->in_edges() : node->out_edges()) {
      const Node* const next = along == Along::kBackwards ? edge->src() : edge->dst();
      if (!leaves || !next->IsExit()) add(next);
    }
    if (along == Along::kEdges) {
      if (node->IsNextIteration() || node->IsLoopCond()) ForEachExit(*node, add);
    } else if (const Frame* loop = run_loops_[node->id()];
               loop != nullptr && run_loops.insert(loop).second) {
      for (const Node* other : NodesIn(*loop, loop->enters)) add(other);
    }
  }
  return reached;
}

const WaitingNodes::Later& WaitingNodes::After(const Waiting& first, const Frame& frame) {
  const auto [found, is_new] = after_.try_emplace({first.index, &frame});
  if (!is_new) return found->second;
  const NodeSet nexts = NextsOf(frame);
  const NodeSet same = Reach({first.node}, nexts, Along::kEdges);
  Nodes reached;
  absl::c_copy_if(frame.nodes, std::back_inserter(reached),
                  [&](const Node* node) { return nexts[node->id()] && same[node->id()]; });
  const NodeSet next = Reach(reached, nexts, Along::kEdges);
  for (const Waiting& each : nodes_) {
    found->second.same.push_back(same[each.node->id()]);
    found->second.next.push_back(next[each.node->id()]);
  }
  return found->second;
}

WaitingNodes::Sides WaitingNodes::SidesOf(const Frame& loop) const {
  Sides sides;
  for (const Waiting& each : nodes_) {
    if (IsWithin(each.frame, loop)) sides.inside.push_back(&each);
  }
  if (nodes_.size() < 2 && sides.inside.empty()) return sides;  // the common case
  const Nodes enters(loop.enters.begin(), loop.enters.end());
  Nodes exits;
  absl::c_copy_if(loop.nodes, std::back_inserter(exits), [](const Node* n) { return n->IsExit(); });
  for (const Frame* around = loop.parent; around != nullptr; around = around->parent) {
    const NodeSet ends = NextsOf(*around);
    const NodeSet before = Reach(enters, ends, Along::kBackwards);
    const NodeSet after = Reach(exits, ends, Along::kForwards);
    for (const Waiting& each : nodes_) {
      if (&Common(loop, *each.frame) != around) continue;
      if (before[each.node->id()]) sides.before.push_back(&each);
      if (after[each.node->id()]) sides.after.push_back(&each);
    }
  }
  return sides;
}

bool WaitingNodes::LeadsTo(const Waiting& first, const Waiting& later, const Frame& frame) {
  return After(first, frame).same[later.index];
}

bool WaitingNodes::AreInOrder(const Waiting& first, const Waiting& other, const Frame& loop) {
  const Frame* frame = &Common(*first.frame, *other.frame);
  const bool apart =
      &first != &other && !LeadsTo(first, other, *frame) && !LeadsTo(other, first, *frame);
  if (apart) return false;
  while (After(first, *frame).next[other.index]) {
    if (frame == &loop) return true;
    frame = frame->parent;
  }
  return false;
}

absl::Status WaitingNodes::Check(const Frame& loop) {
  const auto rejected = [](const Waiting* first, const Waiting* later) {
    return Rejected("ops may wait for each other", *first->node, later->node);
  };
  const Sides sides = SidesOf(loop);
  Several earlier = sides.before;
  earlier.insert(earlier.end(), sides.inside.begin(), sides.inside.end());
  for (const Waiting* first : earlier) {
    for (const Waiting* later : sides.after) {
      const Frame& common = Common(*first->frame, *later->frame);
      if (!LeadsTo(*first, *later, common)) return rejected(first, later);
    }
  }
  for (const Waiting* first : earlier) {
    const bool is_before = !IsWithin(first->frame, loop);
    for (const Waiting* later : sides.inside) {
      const bool ordered =
          is_before ? LeadsTo(*first, *later, loop) : AreInOrder(*first, *later, loop);
      if (!ordered) return rejected(first, later);
    }
  }
  for (const Node* node : NodesIn(loop, loop.enters)) run_loops_[node->id()] = &loop;
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
