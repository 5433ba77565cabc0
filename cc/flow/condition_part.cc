#include "cc/flow/condition_part.h"

#include <unordered_map>
#include <vector>

#include "cc/flow/graph_names.h"

namespace tensor_array_grad {
namespace {

// The nodes that `node` reads or waits for within its frame and iteration. For an Exit of an inner
// loop these are all inputs of that loop.
std::vector<Node*> InputsWithin(const Node& node,
                                const std::unordered_map<const Node*, const Frame*>& loop_of_exit) {
  std::vector<Node*> inputs;
  const auto add = [&](const Node& reader) {
    for (const Edge* edge : reader.in_edges()) {
      if (edge->src()->IsOp() && !edge->src()->IsNextIteration()) inputs.push_back(edge->src());
    }
  };
  const auto loop = loop_of_exit.find(&node);
  if (loop != loop_of_exit.end()) {
    for (const Node* enter : loop->second->enters) add(*enter);
  } else if (!node.IsEnter()) {
    add(node);
  }
  return inputs;
}

}  // namespace

ConditionPart ConditionPartOf(const Frame& frame, const Node& loop_cond) {
  std::unordered_map<const Node*, const Frame*> loop_of_exit;
  for (const Frame* child : frame.children) {
    for (const Node* node : child->nodes) {
      if (node->IsExit()) loop_of_exit[node] = child;
    }
  }
  ConditionPart part;
  std::vector<const Node*> open{&loop_cond};
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (!part.nodes.insert(node).second) continue;
    const auto loop = loop_of_exit.find(node);
    if (loop != loop_of_exit.end()) part.loops.insert(loop->second);
    for (Node* input : InputsWithin(*node, loop_of_exit)) open.push_back(input);
  }
  return part;
}

}  // namespace tensor_array_grad
