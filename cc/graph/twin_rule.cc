#include "cc/graph/twin_rule.h"

#include <vector>

#include "cc/graph/loop_count.h"
#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Graph;
using tensorflow::Node;

// Whether both give one value: one output, or two constants with the same integer.
bool AreEqual(Source a, Source b) {
  if (a == b) return true;
  const auto of_a = IntegerOf(a), of_b = IntegerOf(b);
  return of_a && of_a == of_b && a.node->output_type(a.slot) == b.node->output_type(b.slot);
}

bool IsPlainRing(const LoopVariable& variable) {
  return !IsConstantEnter(*variable.enter) && WaitsForNothing(*variable.enter) &&
         WaitsForNothing(*variable.merge) && WaitsForNothing(*variable.gate) &&
         IsOnOneDevice(variable);
}

// Whether `b` may go, and all that read it read `a`.
bool AreTwins(const LoopCount& a, const LoopCount& b, const std::vector<LoopVariable>& variables) {
  return a.sum != b.sum && a.down == b.down && IsPlainRing(a.variable) && IsPlainRing(b.variable) &&
         OnSameDevice(*a.variable.enter, *b.variable.enter) && OnSameDevice(*a.sum, *b.sum) &&
         OnSameDevice(*a.variable.enter, *a.sum) && HasRingOfItsOwn(b.variable) &&
         !IsMergeIndexRead(b.variable) && WaitsForNothingOfItsOwn(b.variable, variables) &&
         AreEqual(a.variable.initial(), b.variable.initial()) && AreEqual(a.step, b.step);
}

// Makes all who read or wait for a node of `from` do so with that of `to`.
absl::Status MoveReaders(const LoopCount& from, const LoopCount& to, Graph* graph) {
  const LoopVariable &old = from.variable, &now = to.variable;
  absl::Status moved = MoveConsumers(from.sum, to.sum, graph);
  if (moved.ok()) moved = MoveOutput(old.gate, 1, {now.gate, 1}, graph);
  MoveWaits(old.gate, now.gate, graph);
  if (moved.ok() && old.exit != nullptr) {
    moved = now.exit != nullptr ? MoveConsumers(old.exit, now.exit, graph)
                                : graph->UpdateEdge(now.gate, 0, old.exit, 0);
  }
  return moved;
}

absl::Status Replace(const LoopCount& from, const LoopCount& to, Graph* graph) {
  const LoopVariable& old = from.variable;
  std::vector<Node*> constants;
  for (Node* node : {from.step.node, old.initial().node}) {
    if (node->IsConstant()) constants.push_back(node);
  }
  absl::Status moved = MoveReaders(from, to, graph);
  if (!moved.ok()) return moved;
  if (to.variable.exit != nullptr && old.exit != nullptr) graph->RemoveNode(old.exit);
  for (Node* node : {old.next, from.sum, old.gate}) graph->RemoveNode(node);
  // What read the merge has been the gate and, of the condition, who comes now.
  moved = MoveConsumers(old.merge, to.variable.merge, graph);
  if (!moved.ok()) return moved;
  graph->RemoveNode(old.merge);
  graph->RemoveNode(old.enter);
  RemoveUnused(constants, graph);
  return absl::OkStatus();
}

// Replaces one variable, if there is one with a twin.
absl::StatusOr<bool> ReplaceOne(const Node& loop_cond, Graph* graph, std::vector<Rewrite>* done) {
  const std::vector<LoopVariable> variables = LoopVariablesOf(loop_cond);
  std::vector<LoopCount> counts;
  for (const LoopVariable& variable : variables) {
    const auto found = LoopCountOf(variable, loop_cond);
    if (!found) continue;
    for (const LoopCount& first : counts) {
      if (!AreTwins(first, *found, variables)) continue;
      done->push_back({variable.merge->name(), first.variable.merge->name()});
      const absl::Status replaced = Replace(*found, first, graph);
      if (!replaced.ok()) return replaced;
      return true;
    }
    counts.push_back(*found);
  }
  return false;
}

}  // namespace

absl::Status TwinRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  if (!CarriesList(LoopVariablesOf(*node), *graph)) return absl::OkStatus();
  for (;;) {
    const auto replaced = ReplaceOne(*node, graph, done);
    if (!replaced.ok()) return replaced.status();
    if (!*replaced) return absl::OkStatus();
  }
}

}  // namespace tensor_array_grad
