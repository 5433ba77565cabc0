#include "cc/graph/accumulator_rule.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "cc/graph/accumulator.h"
#include "cc/graph/node_util.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataType;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

constexpr char kPack[] = "TensorArrayGrad>PackAccumulators";
constexpr char kPush[] = "TensorArrayGrad>PushAccumulators";
constexpr char kPop[] = "TensorArrayGrad>PopAccumulators";

// The accumulators of one forward and one backward loop, and the rows in which they are packed.
struct Pack {
  std::vector<Accumulator> all;
  std::vector<int> column;      // for each: the index of its value in a row
  std::vector<Source> lists;    // by column
  std::vector<Source> values;   // by column
  std::vector<DataType> types;  // by column

  explicit Pack(std::vector<Accumulator> accumulators) : all(std::move(accumulators)) {
    // The variables of the first accumulator stay. If a backward variable has an Exit, nodes may
    // wait for it, so such an accumulator comes first.
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

// Adds the three ops. The loop variables of the first accumulator then hold the packed stack.
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
    if (pack.all[i].never_read()) continue;
    moved = MoveOutput(pack.all[i].pop, 1, {*pop, 1 + pack.column[i]}, graph);
  }
  return moved;
}

absl::Status Fuse(const Pack& pack, Graph* graph, std::vector<Rewrite>* done) {
  const Accumulator& first = pack.all.front();
  // All checks come first; after them the graph changes.
  const auto pack_def = PackDef(pack, graph->NewName(absl::StrCat(first.push->name(), "/pack")));
  const auto push_def = PushDef(pack), pop_def = PopDef(pack);
  for (const auto* def : {&pack_def, &push_def, &pop_def}) {
    if (!def->ok() || !HasKernelOnDeviceOf(*first.push, **def)) return absl::OkStatus();
  }
  for (const Accumulator& one : pack.all) done->push_back({one.push->name(), first.push->name()});
  const absl::Status inserted = Insert(pack, *pack_def, *push_def, *pop_def, graph);
  if (!inserted.ok()) return inserted;
  Node* const shape = InputOf(*first.pop, 1).node;
  graph->RemoveNode(first.push);
  graph->RemoveNode(first.pop);
  RemoveIfUnused(shape, graph);
  for (size_t i = 1; i < pack.all.size(); ++i) {
    HandOver(pack.all[i].pushed, first.pushed, graph);
    if (!pack.all[i].never_read()) HandOver(pack.all[i].popped, first.popped, graph);
    RemoveAccumulator(pack.all[i], graph);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AccumulatorRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  LoopAccumulators found = AccumulatorsOf(*node);
  for (auto& [reader, all] : found.by_reader) {
    // The lists that are never read join the first pack.
    for (Accumulator& pushed : found.never_read) all.push_back(std::move(pushed));
    found.never_read.clear();
    const absl::Status fused = Fuse(Pack(std::move(all)), graph, done);
    if (!fused.ok()) return fused;
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
