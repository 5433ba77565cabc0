#include "cc/rewrite/pushed_list.h"

#include <algorithm>
#include <optional>

#include "cc/flow/loop_count.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace tensor_array_grad {
namespace {

// The only data consumer of `from`, behind any Identity nodes that lead only to it; these are added
// to `links`. Null if there are several consumers, if `from` is not the consumer's first input, or
// if such an Identity has a control edge to another node.
Node* OnlyConsumer(Source from, std::vector<Node*>* links) {
  const Edge* only = nullptr;
  for (const Edge* edge : from.node->out_edges()) {
    if (edge->IsControlEdge() || edge->src_output() != from.slot) continue;
    if (only != nullptr) return nullptr;
    only = edge;
  }
  if (only == nullptr || only->dst_input() != 0) return nullptr;
  Node* const consumer = only->dst();
  if (!consumer->IsIdentity()) return consumer;
  if (!HasOneConsumer(*consumer)) return nullptr;
  links->push_back(consumer);
  return OnlyConsumer({consumer, 0}, links);
}

bool HasOp(const Node* node, const char* op) {
  return node != nullptr && node->type_string() == op;
}

// Whether `consumer`, the only consumer of the variable in the body, outputs the variable's next
// value, possibly through Identities, and no other node reads a node of the variable. The
// variable's Enter, Merge and Switch must have no control inputs, and no node may wait for its
// Switch or for `consumer`.
bool IsPassedOnUnread(const LoopVariable& variable, Node* consumer, std::vector<Node*>* links) {
  for (const Node* node : {variable.enter, variable.merge, variable.switch_node}) {
    if (!WaitsForNothing(*node)) return false;
  }
  return FeedsOnlyItself(variable) && HasOneConsumer(*variable.merge) &&
         !IsWaitedFor(*variable.switch_node) && !IsWaitedFor(*consumer) &&
         OnlyConsumer({consumer, 0}, links) == variable.next &&
         OnSameDevice(*variable.switch_node, *consumer) && OnSameDevice(*variable.enter, *consumer);
}

// Whether a pop requests no element shape (-1), so that its outputs do not depend on that input.
bool AsksForNoShape(const Node& pop) { return IntegerOf(InputOf(pop, 1)) == -1; }

// Matches `variable` as the variable of a list to which its loop pushes, from the EmptyTensorList
// to the NextIteration. Fills found->pushed and found->push.
bool MatchPush(const LoopVariable& variable, PushedList* found) {
  const Node* const list = variable.initial().node;
  Node* const push = OnlyConsumer({variable.switch_node, 1}, &found->links);
  if (!HasOp(list, "EmptyTensorList") || !HasOp(push, "TensorListPushBack")) return false;
  if (!IsPassedOnUnread(variable, push, &found->links)) return false;
  found->pushed = variable;
  found->push = push;
  return SameElementType(*list, *push) && OnSameDevice(*list, *push) &&
         tensorflow::DeviceNameUtils::IsSameAddressSpace(
             push->assigned_device_name(),
             InputOf(*variable.switch_node, 1).node->assigned_device_name());
}

// Follows the list of found->pushed from its Exit to the loop that pops from it. Fills
// found->popped and found->pop. True if all of this matches, or if no node reads the list.
bool MatchPop(PushedList* found) {
  Node* const exit = found->pushed.exit;
  if (exit == nullptr) return true;
  if (!WaitsForNothing(*exit)) return false;
  if (!IsRead(*exit, 0)) return true;
  Node* const enter = OnlyConsumer({exit, 0}, &found->links);
  if (enter == nullptr || !enter->IsEnter() || !HasOneConsumer(*enter)) return false;
  Node* const merge = (*enter->out_edges().begin())->dst();
  if (!merge->IsMerge()) return false;
  const auto variable = LoopVariableOf(OnlyConsumer({merge, 0}, &found->links));
  if (!variable || variable->enter != enter) return false;
  if (variable->exit != nullptr && IsRead(*variable->exit, 0)) return false;
  Node* const pop = OnlyConsumer({variable->switch_node, 1}, &found->links);
  const bool is_pop = HasOp(pop, "TensorListPopBack");
  if (!is_pop || !IsPassedOnUnread(*variable, pop, &found->links)) return false;
  found->popped = *variable;
  found->pop = pop;
  return SameElementType(*found->push, *pop) && OnSameDevice(*found->push, *pop) &&
         AsksForNoShape(*pop) && WaitsForNothing(*pop);
}

std::optional<PushedList> MatchList(const LoopVariable& variable) {
  PushedList found;
  if (!MatchPush(variable, &found) || !MatchPop(&found)) return std::nullopt;
  return found;
}

void RemoveVariable(const LoopVariable& variable, Graph* graph) {
  for (Node* node :
       {variable.enter, variable.merge, variable.switch_node, variable.next, variable.exit}) {
    if (node != nullptr) graph->RemoveNode(node);
  }
}

}  // namespace

PushedLists PushedListsOf(const Node& loop_cond) {
  PushedLists found;
  for (const LoopVariable& variable : LoopVariablesOf(loop_cond)) {
    const auto one = MatchList(variable);
    if (!one) continue;
    if (one->never_read()) {
      found.never_read.push_back(*one);
    } else {
      found.by_reader[InputOf(*one->popped.switch_node, 1).node->id()].push_back(*one);
    }
  }
  return found;
}

void MoveControlEdges(const LoopVariable& from, const LoopVariable& to, Graph* graph) {
  for (const Edge* edge : from.next->in_edges()) {
    if (edge->IsControlEdge()) graph->AddControlEdge(edge->src(), to.next);
  }
  if (from.exit != nullptr && to.exit != nullptr) MoveWaits(from.exit, to.exit, graph);
}

void RemovePushedList(const PushedList& list, Graph* graph) {
  std::vector<Node*> inputs{list.pushed.initial().node};
  if (!list.never_read()) inputs.push_back(InputOf(*list.pop, 1).node);
  RemoveVariable(list.pushed, graph);
  graph->RemoveNode(list.push);
  if (!list.never_read()) {
    RemoveVariable(list.popped, graph);
    graph->RemoveNode(list.pop);
  }
  for (Node* link : list.links) graph->RemoveNode(link);
  RemoveUnused(inputs, graph);
}

}  // namespace tensor_array_grad
