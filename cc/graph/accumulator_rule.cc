#include "cc/graph/accumulator_rule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataType;
using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

constexpr char kPack[] = "TensorArrayGrad>PackAccumulators";
constexpr char kPush[] = "TensorArrayGrad>PushAccumulators";
constexpr char kPop[] = "TensorArrayGrad>PopAccumulators";

// A list that a loop pushes to, and where there is one, the loop that pops from it.
struct Accumulator {
  LoopVariable pushed{};
  Node* push = nullptr;
  LoopVariable popped{};
  Node* pop = nullptr;
  std::vector<Node*> links;  // Identity nodes in the ring

  bool never_read() const { return pop == nullptr; }
  Source value() const { return InputOf(*push, 1); }
};

bool IsRead(const Node& node) {
  return std::any_of(node.out_edges().begin(), node.out_edges().end(),
                     [](const Edge* edge) { return !edge->IsControlEdge(); });
}

// The one consumer of `from`, behind Identity nodes that only lead there, which are added to
// `links`; null where there are several, where it is not the consumer's first input, or where
// anybody waits for such a node.
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

bool IsOf(const Node* node, const char* op) { return node != nullptr && node->type_string() == op; }

// Whether `step`, the one consumer of the open gate, leads back to the variable, and nobody outside
// reads or waits for a node of the ring or is waited for by the part of it that goes.
bool IsRing(const LoopVariable& variable, Node* step, std::vector<Node*>* links) {
  for (const Node* node : {variable.enter, variable.merge, variable.gate}) {
    if (!WaitsForNothing(*node)) return false;
  }
  return !IsConstantEnter(*variable.enter) && HasRingOfItsOwn(variable) &&
         HasOneConsumer(*variable.merge) && !IsWaitedFor(*variable.gate) && !IsWaitedFor(*step) &&
         OnlyConsumer({step, 0}, links) == variable.next && OnSameDevice(*variable.gate, *step) &&
         OnSameDevice(*variable.enter, *step);
}

// Whether a pop asks for no shape: then its answer does not depend on what it asks.
bool AsksForNoShape(const Node& pop) {
  const Node* const shape = InputOf(pop, 1).node;
  tensorflow::Tensor value;
  if (!IsOf(shape, "Const") || !GetNodeAttr(shape->attrs(), "value", &value).ok()) return false;
  if (value.dims() != 0) return false;
  return value.dtype() == tensorflow::DT_INT32 ? value.scalar<int32_t>()() == -1
                                               : value.scalar<int64_t>()() == -1;
}

bool MatchPush(const LoopVariable& variable, Accumulator* found) {
  const Node* const list = variable.initial().node;
  Node* const push = OnlyConsumer({variable.gate, 1}, &found->links);
  if (!IsOf(list, "EmptyTensorList") || !IsOf(push, "TensorListPushBack")) return false;
  if (!IsRing(variable, push, &found->links)) return false;
  found->pushed = variable;
  found->push = push;
  return SameElementType(*list, *push) && OnSameDevice(*list, *push) &&
         tensorflow::DeviceNameUtils::IsSameAddressSpace(
             push->assigned_device_name(), InputOf(*variable.gate, 1).node->assigned_device_name());
}

// Finds the loop that pops what `found->pushed` holds at the end, or that nobody does.
bool MatchPop(Accumulator* found) {
  Node* const exit = found->pushed.exit;
  if (exit == nullptr) return true;
  if (!WaitsForNothing(*exit)) return false;
  if (!IsRead(*exit)) return true;
  Node* const enter = OnlyConsumer({exit, 0}, &found->links);
  if (enter == nullptr || !enter->IsEnter() || !HasOneConsumer(*enter)) return false;
  Node* const merge = (*enter->out_edges().begin())->dst();
  if (!merge->IsMerge()) return false;
  const auto variable = LoopVariableOf(OnlyConsumer({merge, 0}, &found->links));
  if (!variable || variable->enter != enter) return false;
  if (variable->exit != nullptr && IsRead(*variable->exit)) return false;
  Node* const pop = OnlyConsumer({variable->gate, 1}, &found->links);
  if (!IsOf(pop, "TensorListPopBack") || !IsRing(*variable, pop, &found->links)) return false;
  found->popped = *variable;
  found->pop = pop;
  return SameElementType(*found->push, *pop) && OnSameDevice(*found->push, *pop) &&
         AsksForNoShape(*pop) && WaitsForNothing(*pop);
}

std::optional<Accumulator> Match(const LoopVariable& variable) {
  Accumulator found;
  if (!MatchPush(variable, &found) || !MatchPop(&found)) return std::nullopt;
  return found;
}

// Lets those who wait for the loop of `exit` to end wait for `other`, an exit of the same loop.
void HandOver(Node* exit, Node* other, Graph* graph) {
  if (exit != nullptr && other != nullptr) MoveWaits(exit, other, graph);
}

// An exit of the same loop, of another variable than `variable`; null where there is none.
Node* OtherExit(const LoopVariable& variable) {
  for (const LoopVariable& other : LoopVariablesOf(*InputOf(*variable.gate, 1).node)) {
    if (other.exit != nullptr && other.exit != variable.exit) return other.exit;
  }
  return nullptr;
}

void RemoveRing(const LoopVariable& variable, Graph* graph) {
  for (Node* node : {variable.enter, variable.merge, variable.gate, variable.next, variable.exit}) {
    if (node != nullptr) graph->RemoveNode(node);
  }
}

// Removes all of `gone` but what others may use too.
void Remove(const Accumulator& gone, Graph* graph) {
  Node* const list = gone.pushed.initial().node;
  Node* const shape = gone.never_read() ? nullptr : InputOf(*gone.pop, 1).node;
  RemoveRing(gone.pushed, graph);
  graph->RemoveNode(gone.push);
  if (!gone.never_read()) {
    RemoveRing(gone.popped, graph);
    graph->RemoveNode(gone.pop);
    RemoveIfUnused(shape, graph);
  }
  for (Node* link : gone.links) graph->RemoveNode(link);
  RemoveIfUnused(list, graph);
}

void RemoveNeverRead(const Accumulator& gone, Graph* graph, std::vector<Rewrite>* done) {
  Node* const value = gone.value().node;
  Node* const other = OtherExit(gone.pushed);
  const bool waited_for = gone.pushed.exit != nullptr && IsWaitedFor(*gone.pushed.exit);
  if (waited_for && other == nullptr) return;
  done->push_back({gone.push->name(), "nothing"});
  HandOver(gone.pushed.exit, other, graph);
  Remove(gone, graph);
  if (IsOf(value, "TensorListElementShape") || IsOf(value, "TensorListLength")) {
    RemoveIfUnused(value, graph);
  }
}

// The accumulators of one forward and one backward loop, as they will be packed.
struct Pack {
  std::vector<Accumulator> all;
  std::vector<int> column;      // of each: which value of a row it is
  std::vector<Source> lists;    // by column
  std::vector<Source> values;   // by column
  std::vector<DataType> types;  // by column

  explicit Pack(std::vector<Accumulator> accumulators) : all(std::move(accumulators)) {
    // The first stays, and with it those who wait for an exit of the backward loop.
    std::stable_partition(all.begin(), all.end(),
                          [](const Accumulator& one) { return one.popped.exit != nullptr; });
    for (const Accumulator& one : all) {
      const Source list = one.pushed.initial(), value = one.value();
      size_t at = 0;
      while (at < values.size() && !(values[at] == value && lists[at] == list)) ++at;
      column.push_back(static_cast<int>(at));
      if (at < values.size()) continue;
      lists.push_back(list);
      values.push_back(value);
      types.push_back(value.node->output_type(value.slot));
    }
  }
};

absl::StatusOr<NodeDef> Finalized(tensorflow::NodeDefBuilder builder) {
  NodeDef def;
  absl::Status built = builder.Finalize(&def);
  if (!built.ok()) return built;
  return def;
}

std::vector<tensorflow::NodeDefBuilder::NodeOut> NodeOuts(const std::vector<Source>& sources) {
  std::vector<tensorflow::NodeDefBuilder::NodeOut> outs;
  for (const Source& source : sources) {
    outs.emplace_back(source.node->name(), source.slot, source.node->output_type(source.slot));
  }
  return outs;
}

absl::StatusOr<NodeDef> PackDef(const Pack& pack, const std::string& name) {
  tensorflow::NodeDefBuilder builder(name, kPack);
  return Finalized(builder.Input(NodeOuts(pack.lists)));
}

absl::StatusOr<NodeDef> PushDef(const Pack& pack) {
  const Node& first = *pack.all.front().push;
  auto builder = StartNode(first.name(), kPush, {InputOf(first, 0)});
  return Finalized(builder.Input(NodeOuts(pack.values)));
}

absl::StatusOr<NodeDef> PopDef(const Pack& pack) {
  const Node& first = *pack.all.front().pop;
  return Finalized(StartNode(first.name(), kPop, {InputOf(first, 0)}).Attr("T", pack.types));
}

// Makes `next` wait for what the others of its loop wait for.
void WaitForAll(const Pack& pack, LoopVariable Accumulator::* variable, Graph* graph) {
  Node* const next = (pack.all.front().*variable).next;
  for (const Accumulator& one : pack.all) {
    for (const Edge* edge : (one.*variable).next->in_edges()) {
      if (edge->IsControlEdge()) graph->AddControlEdge(edge->src(), next);
    }
  }
}

// Puts the three ops in; the rings of the first accumulator become those of all.
absl::Status Insert(const Pack& pack, const NodeDef& pack_def, const NodeDef& push_def,
                    const NodeDef& pop_def, Graph* graph) {
  const Accumulator& first = pack.all.front();
  auto packed = AddReplacement(pack_def, pack.lists, *pack.lists.front().node, {}, graph);
  if (!packed.ok()) return packed.status();
  absl::Status moved = graph->UpdateEdge(*packed, 0, first.pushed.enter, 0);
  if (!moved.ok()) return moved;

  std::vector<Source> inputs = {InputOf(*first.push, 0)};
  inputs.insert(inputs.end(), pack.values.begin(), pack.values.end());
  std::vector<Node*> pushes;
  for (const Accumulator& one : pack.all) pushes.push_back(one.push);
  auto push = AddReplacement(push_def, inputs, *first.push, pushes, graph);
  if (!push.ok()) return push.status();
  moved = MoveOutput(first.push, 0, {*push, 0}, graph);
  if (!moved.ok()) return moved;

  auto pop = AddReplacement(pop_def, {InputOf(*first.pop, 0)}, *first.pop, {}, graph);
  if (!pop.ok()) return pop.status();
  moved = MoveOutput(first.pop, 0, {*pop, 0}, graph);
  for (size_t i = 0; i < pack.all.size() && moved.ok(); ++i) {
    moved = MoveOutput(pack.all[i].pop, 1, {*pop, 1 + pack.column[i]}, graph);
  }
  return moved;
}

absl::Status Fuse(const Pack& pack, Graph* graph, std::vector<Rewrite>* done) {
  const Accumulator& first = pack.all.front();
  // Everything that can refuse comes first; from here on the graph changes.
  const auto pack_def = PackDef(pack, graph->NewName(absl::StrCat(first.push->name(), "/pack")));
  const auto push_def = PushDef(pack), pop_def = PopDef(pack);
  for (const auto* def : {&pack_def, &push_def, &pop_def}) {
    if (!def->ok() || !HasKernelOnDeviceOf(*first.push, **def)) return absl::OkStatus();
  }
  for (const Accumulator& one : pack.all) done->push_back({one.push->name(), first.push->name()});
  const absl::Status inserted = Insert(pack, *pack_def, *push_def, *pop_def, graph);
  if (!inserted.ok()) return inserted;
  WaitForAll(pack, &Accumulator::pushed, graph);
  WaitForAll(pack, &Accumulator::popped, graph);
  Node* const shape = InputOf(*first.pop, 1).node;
  graph->RemoveNode(first.push);
  graph->RemoveNode(first.pop);
  RemoveIfUnused(shape, graph);
  for (size_t i = 1; i < pack.all.size(); ++i) {
    HandOver(pack.all[i].pushed.exit, first.pushed.exit, graph);
    HandOver(pack.all[i].popped.exit, first.popped.exit, graph);
    Remove(pack.all[i], graph);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AccumulatorRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  // By the backward loop, and the order in which the nodes were made.
  std::map<int, std::vector<Accumulator>> by_loop;
  for (const LoopVariable& variable : LoopVariablesOf(*node)) {
    const auto found = Match(variable);
    if (!found) continue;
    if (found->never_read()) {
      RemoveNeverRead(*found, graph, done);
    } else {
      by_loop[InputOf(*found->popped.gate, 1).node->id()].push_back(*found);
    }
  }
  for (const auto& loop : by_loop) {
    if (loop.second.size() < 2) continue;
    const absl::Status fused = Fuse(Pack(loop.second), graph, done);
    if (!fused.ok()) return fused;
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
