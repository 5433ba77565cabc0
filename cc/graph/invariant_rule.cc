#include "cc/graph/invariant_rule.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

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

// The loop as it is before a rewrite.
struct Loop {
  const Node* loop_cond;
  std::vector<LoopVariable> variables;
  StepNodes nodes;

  std::vector<LoopVariable> Without(const LoopVariable& variable) const {
    std::vector<LoopVariable> others = variables;
    others.erase(std::remove_if(others.begin(), others.end(),
                                [&](const LoopVariable& v) { return v.gate == variable.gate; }),
                 others.end());
    return others;
  }
};

// An input of a node.
struct Use {
  Node* node;
  int index;
};

// A variable that never changes, and all that its removal takes.
struct Invariant {
  LoopVariable variable;
  std::vector<Node*> aliases;  // Identities that only repeat it
  std::vector<Use> uses;
  std::vector<std::pair<Node*, Node*>> gated;  // body gate, and who has to wait for it
  Node* anchor = nullptr;                      // a next step that no rule takes away
  Node* other_exit = nullptr;                  // null where nobody needs the exit
};

bool IsOrdinaryRing(const LoopVariable& v) {
  if (v.enter->type_string() != "Enter" || IsConstantEnter(*v.enter)) return false;
  if (!HasRingOfItsOwn(v)) return false;
  if (!WaitsForNothing(*v.merge) || !WaitsForNothing(*v.gate)) return false;
  if (IsWaitedFor(*v.merge) || IsWaitedFor(*v.gate)) return false;
  return !IsMergeIndexRead(v) && IsOnOneDevice(v);
}

// Whether `node` does nothing but repeat its input in the steps that are taken.
bool IsAlias(const Node& node, const LoopVariable& variable, const Loop& loop) {
  return node.IsIdentity() && !IsWaitedFor(node) && OnSameDevice(node, *variable.enter) &&
         WaitsForBodyAlone(node, *loop.loop_cond);
}

// The edges by which the body reads the variable; Identities that repeat it go to `aliases`.
std::vector<const Edge*> BodyReads(const LoopVariable& variable, const Loop& loop,
                                   std::vector<Node*>* aliases) {
  std::vector<const Edge*> reads;
  std::vector<const Node*> open{variable.gate};
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    for (const Edge* edge : node->out_edges()) {
      if (edge->IsControlEdge() || (node == variable.gate && edge->src_output() == 0)) continue;
      if (IsAlias(*edge->dst(), variable, loop)) {
        aliases->push_back(edge->dst());
        open.push_back(edge->dst());
      } else {
        reads.push_back(edge);
      }
    }
  }
  return reads;
}

// Who may read a constant of the loop by `edge` in the place of the variable.
bool MayRead(const Edge& edge, const LoopVariable& variable, const Loop& loop) {
  const Node& reader = *edge.dst();
  if (!OnSameDevice(reader, *variable.enter)) return false;
  if (!reader.IsControlFlow()) return true;
  return reader.IsSwitch() && edge.dst_input() == 0 &&
         loop.nodes.body.count(InputOf(reader, 1).node->id()) > 0;
}

Node* NodeOnDeviceOf(const Node& node, const std::vector<Node*>& choice) {
  for (Node* candidate : choice) {
    if (OnSameDevice(*candidate, node)) return candidate;
  }
  return nullptr;
}

Node* ExitOnDeviceOf(const Node& exit, const std::vector<LoopVariable>& variables) {
  std::vector<Node*> exits;
  for (const LoopVariable& variable : variables) {
    if (variable.exit != nullptr) exits.push_back(variable.exit);
  }
  return NodeOnDeviceOf(exit, exits);
}

NodeDef ExitValueDef(const LoopVariable& variable, const std::string& name) {
  NodeDef def;
  const absl::Status built = StartNode(name, "Identity", {variable.initial()}).Finalize(&def);
  return built.ok() ? def : NodeDef();
}

// Lists the readers of `found.variable`; false if one of them cannot read a constant instead.
bool CollectUses(const Loop& loop, Invariant* found) {
  const LoopVariable& variable = found->variable;
  const std::vector<const Edge*> body = BodyReads(variable, loop, &found->aliases);
  NodeIds own{variable.merge->id(), variable.gate->id()};
  for (const Node* alias : found->aliases) own.insert(alias->id());
  for (const Edge* edge : variable.merge->out_edges()) {
    if (edge->IsControlEdge() || edge->dst() == variable.gate) continue;
    if (!MayRead(*edge, variable, loop) || !RunsAfter(*edge->dst(), loop.nodes.whole, own)) {
      return false;
    }
    found->uses.push_back({edge->dst(), edge->dst_input()});
  }
  const std::vector<Node*> gates = BodyGatesOf(loop.Without(variable));
  bool goes_round = false;
  for (const Edge* edge : body) {
    if (edge->dst() == variable.next) {
      goes_round = true;
      continue;
    }
    if (!MayRead(*edge, variable, loop)) return false;
    found->uses.push_back({edge->dst(), edge->dst_input()});
    if (RunsAfter(*edge->dst(), loop.nodes.body, own)) continue;
    Node* const gate = NodeOnDeviceOf(*edge->dst(), gates);
    if (gate == nullptr) return false;
    found->gated.push_back({gate, edge->dst()});
  }
  return goes_round;
}

bool Changes(const LoopVariable& variable, const Loop& loop) {
  std::vector<Node*> aliases;
  const std::vector<const Edge*> reads = BodyReads(variable, loop, &aliases);
  return std::none_of(reads.begin(), reads.end(),
                      [&](const Edge* edge) { return edge->dst() == variable.next; });
}

// The next step of a variable that stays whatever rules do: it changes, and is no list.
Node* AnchorOn(const Node& device, const Loop& loop) {
  for (const LoopVariable& variable : loop.variables) {
    if (variable.next->output_type(0) != tensorflow::DT_VARIANT && Changes(variable, loop) &&
        OnSameDevice(*variable.next, device)) {
      return variable.next;
    }
  }
  return nullptr;
}

std::optional<Invariant> MatchInvariant(const LoopVariable& variable, const Loop& loop) {
  if (!IsOrdinaryRing(variable) || !WaitsForNothingOfItsOwn(variable, loop.variables))
    return std::nullopt;
  Invariant found{variable, {}, {}, {}};
  if (!CollectUses(loop, &found)) return std::nullopt;
  found.anchor = AnchorOn(*variable.enter, loop);
  if (found.anchor == nullptr) return std::nullopt;
  Node* const exit = variable.exit;
  if (exit != nullptr && IsUsed(*exit)) {
    found.other_exit = ExitOnDeviceOf(*exit, loop.Without(variable));
    if (found.other_exit == nullptr ||
        !HasKernelOnDeviceOf(*exit, ExitValueDef(variable, "probe"))) {
      return std::nullopt;
    }
  }
  return found;
}

absl::Status ReplaceExit(const Invariant& invariant, Graph* graph) {
  const LoopVariable& variable = invariant.variable;
  if (invariant.other_exit != nullptr) {
    const std::string name = graph->NewName(absl::StrCat(variable.exit->name(), "/initial"));
    const auto value = AddReplacement(ExitValueDef(variable, name), {variable.initial()},
                                      *variable.exit, {variable.exit}, graph);
    if (!value.ok()) return value.status();
    graph->AddControlEdge(invariant.other_exit, *value);
    const absl::Status moved = MoveConsumers(variable.exit, *value, graph);
    if (!moved.ok()) return moved;
  }
  if (variable.exit != nullptr) graph->RemoveNode(variable.exit);
  return absl::OkStatus();
}

absl::Status MakeConstant(const Invariant& invariant, Graph* graph) {
  const LoopVariable& variable = invariant.variable;
  for (const Use& use : invariant.uses) {
    const absl::Status moved = graph->UpdateEdge(variable.enter, 0, use.node, use.index);
    if (!moved.ok()) return moved;
  }
  for (const auto& [gate, node] : invariant.gated) graph->AddControlEdge(gate, node);
  const absl::Status replaced = ReplaceExit(invariant, graph);
  if (!replaced.ok()) return replaced;
  for (Node* alias : invariant.aliases) graph->RemoveNode(alias);
  for (Node* node : {variable.next, variable.gate, variable.merge}) graph->RemoveNode(node);
  variable.enter->ClearAttr("is_constant");
  variable.enter->AddAttr("is_constant", true);
  return absl::OkStatus();
}

}  // namespace

absl::Status InvariantRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  std::vector<LoopVariable> variables = LoopVariablesOf(*node);
  if (!CarriesList(variables, *graph)) return absl::OkStatus();
  Loop loop{node, variables, StepNodes(variables)};
  for (const LoopVariable& variable : variables) {
    const auto invariant = MatchInvariant(variable, loop);
    if (!invariant) continue;
    done->push_back({absl::StrCat(variable.merge->name(), ", ", variable.next->name()),
                     variable.enter->name()});
    const absl::Status made = MakeConstant(*invariant, graph);
    if (!made.ok()) return made;
    RemoveOrAnchorConstant(variable.enter, invariant->anchor, graph);
    // Nodes that hung on this variable alone stay listed: those that were not gated are now.
    loop.variables = loop.Without(variable);
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
