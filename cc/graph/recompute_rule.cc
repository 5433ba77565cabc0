#include "cc/graph/recompute_rule.h"

#include <algorithm>

#include "cc/graph/accumulator.h"
#include "cc/graph/loop_count.h"
#include "cc/graph/node_util.h"
#include "cc/graph/step_value.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

// Merge, gate, push or pop and next step, forward and backward.
constexpr int kNodesOfRing = 8;

// Whether the list never refuses one of the elements that `forward` pushes for being too many.
bool HasRoom(const Node& list, const Node& forward) {
  const Source bound = Origin(InputOf(list, 1));
  const auto most = IntegerOf(bound);
  return most == -1 || StopsAt(forward, [&](Source limit) {
           return limit == bound || (most && IntegerOf(limit) == most);
         });
}

// Whether the list never refuses an element for its shape.
bool Takes(const Node& list, const StepValues::Shape& shape) {
  const Source asked = InputOf(list, 0);
  if (IntegerOf(asked) == -1) return true;
  const auto sizes = IntegersOf(asked);
  return sizes &&
         std::equal(sizes->begin(), sizes->end(), shape.begin(), shape.end(),
                    [](int64_t of_list, int64_t size) { return of_list == -1 || of_list == size; });
}

// Whether those who wait for the backward loop by this variable can wait for its count.
bool CanHandOver(const Accumulator& accumulator, const LoopPair& loops) {
  const Node* const exit = accumulator.popped.exit;
  return exit == nullptr || !IsWaitedFor(*exit) || loops.back.variable.exit != nullptr;
}

bool CanGo(const Accumulator& accumulator, const Node& forward, const LoopPair& loops,
           StepValues* values) {
  const auto shape = values->ShapeOf(accumulator.value());
  const Node& list = *accumulator.pushed.initial().node;
  return shape && OnSameDevice(*accumulator.pop, *loops.back.sum) && Takes(list, *shape) &&
         HasRoom(list, forward) && CanHandOver(accumulator, loops);
}

bool HasKernels(const LoopPair& loops) {
  const Source sum{loops.back.sum, 0};
  for (const char* op : {"Sub", "AddV2"}) {
    NodeDef def;
    if (!StartNode("probe", op, {sum, sum}).Finalize(&def).ok()) return false;
    if (!HasKernelOnDeviceOf(*sum.node, def)) return false;
  }
  return true;
}

// The accumulators of one backward loop that are to go.
std::vector<Accumulator> Choose(const std::vector<Accumulator>& all, const Node& forward,
                                const LoopPair& loops) {
  StepValues values(loops);
  std::vector<Accumulator> once, each_step;
  for (const Accumulator& one : all) {
    if (!CanGo(one, forward, loops, &values)) continue;
    (StepValues::IsOfConstantList(one.value()) ? once : each_step).push_back(one);
  }
  std::vector<Source> again;
  for (const Accumulator& one : each_step) again.push_back(one.value());
  if (once.size() + each_step.size() == all.size() && values.StepNodesOf(again) < kNodesOfRing) {
    once.insert(once.end(), each_step.begin(), each_step.end());
  }
  return once;
}

absl::Status Replace(const Accumulator& gone, const LoopPair& loops, StepValueBuilder* builder,
                     Graph* graph, std::vector<Rewrite>* done) {
  const Source value = gone.value();
  const auto again = builder->Again(value);
  if (!again.ok()) return again.status();
  done->push_back({gone.push->name(), again->node->name()});
  const absl::Status moved = MoveOutput(gone.pop, 1, *again, graph);
  if (!moved.ok()) return moved;
  HandOver(gone.pushed, loops.ahead.variable, graph);
  HandOver(gone.popped, loops.back.variable, graph);
  RemoveAccumulator(gone, graph);
  return absl::OkStatus();
}

// Replaces those of `all`, the accumulators of one backward loop, that need not be kept.
absl::Status ReplaceSome(const std::vector<Accumulator>& all, const Node& forward, Graph* graph,
                         std::vector<Rewrite>* done) {
  const Node& backward = *InputOf(*all.front().popped.gate, 1).node;
  const auto loops = LoopPair::Of(forward, backward);
  if (!loops || !HasKernels(*loops)) return absl::OkStatus();
  StepValueBuilder builder(*loops, graph);
  std::vector<Node*> values;
  for (const Accumulator& gone : Choose(all, forward, *loops)) {
    values.push_back(gone.value().node);
    const absl::Status replaced = Replace(gone, *loops, &builder, graph, done);
    if (!replaced.ok()) return replaced;
  }
  RemoveUnusedValues(values, graph);
  return absl::OkStatus();
}

}  // namespace

absl::Status RecomputeRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  for (const auto& [reader, all] : AccumulatorsOf(*node).by_reader) {
    const absl::Status replaced = ReplaceSome(all, *node, graph, done);
    if (!replaced.ok()) return replaced;
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
