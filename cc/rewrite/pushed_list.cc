#include "cc/rewrite/pushed_list.h"

#include <algorithm>
#include <optional>

#include "cc/base/op_names.h"
#include "cc/flow/loop_count.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace tensor_array_grad {
namespace {

// Reasons why a list is no pushed list.
constexpr char kRead[] = "the list that $0 outputs has other readers among $1";
constexpr char kNotPopped[] =
    "the list that $0 outputs is read by $1, not by one backward loop alone that takes one value "
    "in each iteration";
constexpr char kWaits[] = "$0 has a control input";
constexpr char kMoved[] = "$0 is on another device than the rest of the list";
constexpr char kOtherType[] = "$0 has another dtype";

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
bool IsPassedOnUnread(const LoopVariable& variable, Node* consumer, std::vector<Node*>* links,
                      Reason* why) {
  for (const Node* node : {variable.enter, variable.merge, variable.switch_node}) {
    if (!why->Require(WaitsForNothing(*node), kWaits, *node)) return false;
  }
  // The Enter and the NextIteration may feed several Merges after an optimizer merged equal nodes.
  for (const Node* node : {variable.enter, variable.next, variable.merge}) {
    if (!why->Require(HasOneConsumer(*node), kRead, *node)) return false;
  }
  return why->Require(!IsWaitedFor(*variable.switch_node), kRead, *variable.switch_node) &&
         why->Require(!IsWaitedFor(*consumer), kRead, *consumer) &&
         why->Require(OnlyConsumer({consumer, 0}, links) == variable.next, kRead, *consumer) &&
         why->Require(OnSameDevice(*variable.switch_node, *consumer), kMoved, *consumer) &&
         why->Require(OnSameDevice(*variable.enter, *consumer), kMoved, *consumer);
}

// Whether a pop requests no element shape (-1), so that its outputs do not depend on that input.
bool AsksForNoShape(const Node& pop) { return IntegerOf(InputOf(pop, 1)) == -1; }

// Matches `variable` as the variable of a list to which its loop pushes, from the EmptyTensorList
// to the NextIteration. Fills found->pushed and found->push. Gives no reason if the loop does not
// push to the list in each iteration.
bool MatchPush(const LoopVariable& variable, PushedList* found, Reason* why) {
  const Node* const list = variable.initial().node;
  found->push = SkipIdentities(variable.update()).node;
  if (!HasOp(list, ops::kEmptyTensorList) || !HasOp(found->push, ops::kTensorListPushBack)) {
    return false;
  }
  found->pushed = variable;
  const Node& push = *found->push;
  return why->Require(OnlyConsumer({variable.switch_node, 1}, &found->links) == &push, kRead,
                      *variable.switch_node) &&
         IsPassedOnUnread(variable, found->push, &found->links, why) &&
         why->Require(SameElementType(*list, push), kOtherType, *list) &&
         why->Require(OnSameDevice(*list, push), kMoved, *list) &&
         why->Require(
             tensorflow::DeviceNameUtils::IsSameAddressSpace(
                 push.assigned_device_name(), variable.loop_cond()->assigned_device_name()),
             "another process runs $0", push);
}

// Follows the list of found->pushed from its Exit to the loop that pops from it. Fills
// found->popped and found->pop. True if all of this matches, or if no node reads the list.
bool MatchPop(PushedList* found, Reason* why) {
  Node* const exit = found->pushed.exit;
  if (exit == nullptr) return true;
  if (!why->Require(WaitsForNothing(*exit), kWaits, *exit)) return false;
  if (!IsRead(*exit, 0)) return true;
  Node* const enter = OnlyConsumer({exit, 0}, &found->links);
  if (!why->Require(enter != nullptr && enter->IsEnter(), kNotPopped, *exit) ||
      !why->Require(HasOneConsumer(*enter), kRead, *enter)) {
    return false;
  }
  Node* const merge = (*enter->out_edges().begin())->dst();
  if (!why->Require(merge->IsMerge(), kNotPopped, *exit)) return false;
  const auto variable = LoopVariableOf(OnlyConsumer({merge, 0}, &found->links));
  if (!variable || variable->enter != enter) return why->Require(false, kRead, *merge);
  Node* const pop = OnlyConsumer({variable->switch_node, 1}, &found->links);
  if (!why->Require(HasOp(pop, ops::kTensorListPopBack), kNotPopped, *variable->switch_node) ||
      !why->Require(variable->exit == nullptr || !IsRead(*variable->exit, 0), kRead,
                    *variable->switch_node) ||
      !IsPassedOnUnread(*variable, pop, &found->links, why)) {
    return false;
  }
  found->popped = *variable;
  found->pop = pop;
  return why->Require(SameElementType(*found->push, *pop), kOtherType, *pop) &&
         why->Require(OnSameDevice(*found->push, *pop), kMoved, *pop) &&
         why->Require(AsksForNoShape(*pop), "$0 requests a shape", *pop) &&
         why->Require(WaitsForNothing(*pop), kWaits, *pop);
}

}  // namespace

PushedLists PushedListsOf(const Node& loop_cond) {
  PushedLists found;
  for (const LoopVariable& variable : LoopVariablesOf(loop_cond)) {
    PushedList one;
    Reason why;
    if (!MatchPush(variable, &one, &why) || !MatchPop(&one, &why)) {
      if (why.text != nullptr) found.left.emplace_back(one.push, why);
    } else if (one.never_read()) {
      found.never_read.push_back(one);
    } else {
      found.by_reader[one.popped.loop_cond()->id()].push_back(one);
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
  std::vector<Node*> nodes = list.links;
  nodes.insert(nodes.end(), {list.push, list.pop});
  for (const LoopVariable& of : {list.pushed, list.popped}) {
    nodes.insert(nodes.end(), {of.enter, of.merge, of.switch_node, of.next, of.exit});
  }
  for (Node* node : nodes) {
    if (node != nullptr) graph->RemoveNode(node);
  }
  RemoveUnused(inputs, graph);
}

}  // namespace tensor_array_grad
