#include "cc/graph/hoist_rule.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

// The loop as it is before its first rewrite.
struct Loop {
  const Node* loop_cond;
  std::vector<LoopVariable> variables;
  StepNodes nodes;

  bool HasMerge(const Node* node) const {
    return std::any_of(variables.begin(), variables.end(),
                       [&](const LoopVariable& variable) { return variable.merge == node; });
  }
};

bool IsConstOf(const Node& node, const Loop& loop) {
  if (node.type_string() != "Const" || IsWaitedFor(node)) return false;
  const auto& edges = node.in_edges();
  return std::all_of(edges.begin(), edges.end(), [&](const Edge* edge) {
    return IsBodyGate(*edge->src(), *loop.loop_cond) || loop.HasMerge(edge->src());
  });
}

// What a Const of the loop waits for.
std::vector<Node*> GatesOf(const Node& constant) {
  std::vector<Node*> gates;
  for (const Edge* edge : constant.in_edges()) gates.push_back(edge->src());
  return gates;
}

std::vector<Node*> ConstsOf(const Loop& loop) {
  std::vector<Node*> gates = BodyGatesOf(loop.variables);
  for (const LoopVariable& variable : loop.variables) gates.push_back(variable.merge);
  std::vector<Node*> found;
  for (const Node* gate : gates) {
    for (const Edge* edge : gate->out_edges()) {
      if (edge->IsControlEdge() && IsConstOf(*edge->dst(), loop)) found.push_back(edge->dst());
    }
  }
  // Each once, and in one order: edges have none of their own.
  std::sort(found.begin(), found.end(), [](Node* a, Node* b) { return a->id() < b->id(); });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// An op that runs when the loop is entered, in the frame that it is entered from; or null.
Node* StartOf(const Loop& loop, const Node& constant) {
  Node* first = nullptr;
  for (const LoopVariable& variable : loop.variables) {
    Node* const start = variable.initial().node;
    if (start == nullptr || start->IsControlFlow() || !OnSameDevice(*start, constant)) continue;
    if (first == nullptr || start->id() < first->id()) first = start;
  }
  return first;
}

bool ConsumersMayReadAnEnter(const Node& constant) {
  bool any = false;
  for (const Edge* edge : constant.out_edges()) {
    if (edge->dst()->IsSink()) continue;
    if (edge->dst()->IsControlFlow() || !OnSameDevice(*edge->dst(), constant)) return false;
    any = true;
  }
  return any;
}

absl::StatusOr<NodeDef> EnterDef(const std::string& name, Node* constant, const Loop& loop) {
  const Node& like = *loop.variables.front().enter;
  std::string frame;
  int64_t parallel_iterations;
  absl::Status found = GetNodeAttr(like.attrs(), "frame_name", &frame);
  found.Update(GetNodeAttr(like.attrs(), "parallel_iterations", &parallel_iterations));
  if (!found.ok()) return found;
  NodeDef def;
  const absl::Status built = StartNode(name, "Enter", {{constant, 0}})
                                 .Attr("frame_name", frame)
                                 .Attr("is_constant", true)
                                 .Attr("parallel_iterations", parallel_iterations)
                                 .Finalize(&def);
  if (!built.ok()) return built;
  return def;
}

// Feeds the consumers of `constant` by `enter`; who then runs by itself gets `gates`.
absl::Status FeedConsumers(Node* constant, Node* enter, const std::vector<Node*>& gates,
                           const Loop& loop, Graph* graph) {
  const bool in_body = !std::all_of(gates.begin(), gates.end(),
                                    [&](const Node* gate) { return loop.HasMerge(gate); });
  const std::vector<const Edge*> edges(constant->out_edges().begin(), constant->out_edges().end());
  for (const Edge* edge : edges) {
    Node* const consumer = edge->dst();
    if (edge->IsControlEdge() || consumer == enter) continue;
    const absl::Status moved = graph->UpdateEdge(enter, 0, consumer, edge->dst_input());
    if (!moved.ok()) return moved;
    if (RunsAfter(*consumer, in_body ? loop.nodes.body : loop.nodes.whole, {constant->id()})) {
      continue;
    }
    for (Node* gate : gates) graph->AddControlEdge(gate, consumer);
  }
  return absl::OkStatus();
}

absl::Status Hoist(Node* constant, Node* start, const NodeDef& enter_def, const Loop& loop,
                   Graph* graph) {
  const std::vector<Node*> gates = GatesOf(*constant);
  const auto enter = AddReplacement(enter_def, {{constant, 0}}, *constant, {}, graph);
  if (!enter.ok()) return enter.status();
  const std::vector<const Edge*> waits(constant->in_edges().begin(), constant->in_edges().end());
  for (const Edge* edge : waits) graph->RemoveControlEdge(edge);
  graph->AddControlEdge(start, constant);
  return FeedConsumers(constant, *enter, gates, loop, graph);
}

}  // namespace

absl::Status HoistRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  const std::vector<LoopVariable> variables = LoopVariablesOf(*node);
  if (!CarriesList(variables, *graph)) return absl::OkStatus();
  const Loop loop{node, variables, StepNodes(variables)};
  for (Node* constant : ConstsOf(loop)) {
    Node* const start = StartOf(loop, *constant);
    if (start == nullptr || !ConsumersMayReadAnEnter(*constant)) continue;
    const std::string name = graph->NewName(absl::StrCat(constant->name(), "/enter"));
    const auto enter_def = EnterDef(name, constant, loop);
    if (!enter_def.ok() || !HasKernelOnDeviceOf(*constant, *enter_def)) continue;
    done->push_back({constant->name(), name});
    const absl::Status hoisted = Hoist(constant, start, *enter_def, loop, graph);
    if (!hoisted.ok()) return hoisted;
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
