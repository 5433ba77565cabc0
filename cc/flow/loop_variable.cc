#include "cc/flow/loop_variable.h"

#include <algorithm>

namespace tensor_array_grad {

std::optional<LoopMerge> LoopMergeOf(const Node& merge) {
  if (!merge.IsMerge() || merge.num_inputs() != 2) return std::nullopt;
  LoopMerge found{nullptr, nullptr};
  for (int i = 0; i < 2; ++i) {
    Node* const input = InputOf(merge, i).node;
    if (input == nullptr) return std::nullopt;
    if (input->IsEnter() && !IsConstantEnter(*input)) found.enter = input;
    if (input->IsNextIteration()) found.next = input;
  }
  if (found.enter == nullptr || found.next == nullptr) return std::nullopt;
  return found;
}

std::optional<LoopVariable> LoopVariableOf(Node* switch_node) {
  if (switch_node == nullptr || switch_node->type_string() != "Switch") return std::nullopt;
  Node* const condition = InputOf(*switch_node, 1).node;
  Node* const merge = InputOf(*switch_node, 0).node;
  if (condition == nullptr || !condition->IsLoopCond()) return std::nullopt;
  const auto inputs = merge == nullptr ? std::nullopt : LoopMergeOf(*merge);
  if (!inputs) return std::nullopt;
  LoopVariable found{inputs->enter, merge, switch_node, inputs->next, nullptr};
  for (const Edge* edge : switch_node->out_edges()) {
    if (edge->src_output() != 0) continue;
    if (!edge->dst()->IsExit() || found.exit != nullptr) return std::nullopt;
    found.exit = edge->dst();
  }
  return found;
}

// A variable never changes if its update is, possibly through Identities, the value that its Switch
// passes to the body. The body reads the variable from the Switch, the condition from the Merge.
std::optional<Source> FromOutside(Source value) {
  if (IsConstantEnter(*value.node)) return InputOf(*value.node, 0);
  Node* switch_node = value.node;
  if (switch_node->IsMerge() && value.slot == 0) {
    for (const Edge* edge : value.node->out_edges()) {
      if (edge->dst()->IsSwitch() && edge->dst_input() == 0) switch_node = edge->dst();
    }
  } else if (value.slot != 1) {
    return std::nullopt;
  }
  const auto variable = LoopVariableOf(switch_node);
  if (!variable) return std::nullopt;
  if (!(SkipIdentities(variable->update()) == Source{switch_node, 1})) return std::nullopt;
  return variable->initial();
}

std::vector<LoopVariable> LoopVariablesOf(const Node& loop_cond) {
  std::vector<LoopVariable> found;
  for (const Edge* edge : loop_cond.out_edges()) {
    if (edge->IsControlEdge() || edge->dst_input() != 1) continue;
    if (auto variable = LoopVariableOf(edge->dst())) found.push_back(*variable);
  }
  std::sort(found.begin(), found.end(), [](const LoopVariable& a, const LoopVariable& b) {
    return a.merge->id() < b.merge->id();
  });
  return found;
}

bool IsBodyPivot(const Node& node, const Node& loop_cond) {
  if (!node.IsIdentity() || node.in_edges().size() != 1) return false;
  const Source switch_node = InputOf(node, 0);
  return switch_node.node != nullptr && switch_node.node->IsSwitch() && switch_node.slot == 1 &&
         InputOf(*switch_node.node, 1).node == &loop_cond;
}

bool WaitsForBodyAlone(const Node& node, const Node& loop_cond) {
  return WaitsOnlyFor(node, [&](const Node& other) { return IsBodyPivot(other, loop_cond); });
}

void AnchorConstant(Node* enter, Node* next, Graph* graph) { graph->AddControlEdge(enter, next); }

bool IsOnOneDevice(const LoopVariable& variable) {
  for (const Node* node : {variable.merge, variable.switch_node, variable.next, variable.exit}) {
    if (node != nullptr && !OnSameDevice(*node, *variable.enter)) return false;
  }
  return true;
}

NodeIds BodyOf(const std::vector<LoopVariable>& variables) {
  NodeIds body;
  std::vector<const Node*> open;
  for (const LoopVariable& variable : variables) {
    body.insert(variable.switch_node->id());
    for (const Edge* edge : variable.switch_node->out_edges()) {
      if (edge->src_output() == 1) open.push_back(edge->dst());
    }
  }
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    // A NextIteration leads to the next iteration, and a LoopCond from the condition to the body.
    if (node->IsSink() || node->IsNextIteration() || node->IsLoopCond()) continue;
    if (!body.insert(node->id()).second) continue;
    for (const Edge* edge : node->out_edges()) open.push_back(edge->dst());
  }
  return body;
}

bool RunsAfter(const Node& node, const NodeIds& nodes, const NodeIds& except) {
  for (const Edge* edge : node.in_edges()) {
    // A control edge from a Switch is live whichever side the Switch selects.
    if (edge->IsControlEdge() && edge->src()->IsSwitch()) continue;
    const int id = edge->src()->id();
    if (nodes.count(id) > 0 && except.count(id) == 0) return true;
  }
  return false;
}

}  // namespace tensor_array_grad
