#include "cc/graph/loop_variable.h"

namespace tensor_array_grad {

using tensorflow::Edge;
using tensorflow::Node;

std::optional<LoopVariable> LoopVariableOf(Node* gate) {
  if (gate == nullptr || gate->type_string() != "Switch") return std::nullopt;
  Node* const condition = InputOf(*gate, 1).node;
  Node* const merge = InputOf(*gate, 0).node;
  if (condition == nullptr || !condition->IsLoopCond()) return std::nullopt;
  if (merge == nullptr || !merge->IsMerge() || merge->num_inputs() != 2) return std::nullopt;
  LoopVariable found{nullptr, merge, gate, nullptr, nullptr};
  for (int i = 0; i < 2; ++i) {
    Node* const input = InputOf(*merge, i).node;
    if (input == nullptr) return std::nullopt;
    if (input->IsEnter()) found.enter = input;
    if (input->IsNextIteration()) found.next = input;
  }
  if (found.enter == nullptr || found.next == nullptr) return std::nullopt;
  for (const Edge* edge : gate->out_edges()) {
    if (edge->src_output() != 0) continue;
    if (!edge->dst()->IsExit() || found.exit != nullptr) return std::nullopt;
    found.exit = edge->dst();
  }
  return found;
}

std::vector<LoopVariable> LoopVariablesOf(const Node& loop_cond) {
  std::vector<LoopVariable> found;
  for (const Edge* edge : loop_cond.out_edges()) {
    if (edge->IsControlEdge() || edge->dst_input() != 1) continue;
    if (auto variable = LoopVariableOf(edge->dst())) found.push_back(*variable);
  }
  return found;
}

}  // namespace tensor_array_grad
