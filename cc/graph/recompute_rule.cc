#include "cc/graph/recompute_rule.h"

#include <algorithm>
#include <utility>

#include "cc/graph/accumulator.h"
#include "cc/graph/loop_count.h"
#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "cc/graph/step_value.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

// Merge, Switch, push or pop, and NextIteration, in the forward and in the backward loop: what all
// accumulators that are packed into one take. Each accumulator adds about one node.
constexpr int kNodesOfRing = 8;

// Whether the bound of the list never makes it reject an element that `forward` pushes.
bool HasRoom(const Node& list, const Node& forward) {
  const Source bound = Origin(InputOf(list, 1));
  const auto most = IntegerOf(bound);
  return most == -1 || StopsAt(forward, [&](Source limit) {
           return limit == bound || (most && IntegerOf(limit) == most);
         });
}

// Whether the element shape of the list never makes it reject an element of `shape`.
bool Takes(const Node& list, const StepValues::Shape& shape) {
  const Source asked = InputOf(list, 0);
  if (IntegerOf(asked) == -1) return true;
  const auto sizes = IntegersOf(asked);
  return sizes &&
         std::equal(sizes->begin(), sizes->end(), shape.begin(), shape.end(),
                    [](int64_t of_list, int64_t size) { return of_list == -1 || of_list == size; });
}

// Whether nodes that wait for the backward loop by the Exit of this variable, if there are any, can
// wait for the Exit of its count.
bool CanHandOver(const Accumulator& accumulator, const LoopPair& loops) {
  const Node* const exit = accumulator.popped.exit;
  return exit == nullptr || !IsWaitedFor(*exit) || loops.back.variable.exit != nullptr;
}

bool CanGo(const Accumulator& accumulator, const LoopPair& loops, StepValues* values) {
  const auto shape = values->ShapeOf(accumulator.value());
  const Node& list = *accumulator.pushed.initial().node;
  return shape && WaitsForBodyAlone(*accumulator.push, loops.forward()) &&
         OnSameDevice(*accumulator.pop, *loops.back.sum) && Takes(list, *shape) &&
         HasRoom(list, loops.forward()) && CanHandOver(accumulator, loops);
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

// The accumulators of one backward loop that the rule replaces (recompute_rule.h says why).
std::vector<Accumulator> Choose(const std::vector<Accumulator>& all, const LoopPair& loops) {
  StepValues values(loops);
  std::vector<Accumulator> once, each_step;
  for (const Accumulator& one : all) {
    if (!CanGo(one, loops, &values)) continue;
    if (AsksAList(*one.value().node)) {
      once.push_back(one);
    } else if (values.FollowsFromCount(one.value())) {
      each_step.push_back(one);
    }
  }
  std::vector<Source> again;
  for (const Accumulator& one : each_step) again.push_back(one.value());
  const int saved = kNodesOfRing + static_cast<int>(each_step.size());
  if (once.size() + each_step.size() == all.size() && values.StepNodesOf(again) < saved) {
    once.insert(once.end(), each_step.begin(), each_step.end());
  }
  return once;
}

// Whether every reader of the popped value runs only in iterations whose condition is true, even if
// it reads a loop constant instead: each also reads or waits for another node of the body. That is
// not enough for a Merge, which runs if any of its inputs is live, nor for a NextIteration, which
// would start another iteration without end.
bool RunInStepsAnyway(const Node& pop, const NodeIds& body, const NodeIds& pops) {
  return std::all_of(pop.out_edges().begin(), pop.out_edges().end(), [&](const Edge* edge) {
    const Node& reader = *edge->dst();
    if (edge->src_output() != 1) return true;
    return (!reader.IsControlFlow() || reader.IsSwitch()) && RunsAfter(reader, body, pops);
  });
}

// Replaces accumulators of one backward loop by recomputed values.
class Replacement {
 public:
  Replacement(std::vector<Accumulator> gone, const LoopPair& loops, Graph* graph)
      : gone_(std::move(gone)), loops_(loops), graph_(graph), builder_(loops, graph) {
    body_ = StepNodes(LoopVariablesOf(loops.backward())).body;
    for (const Accumulator& one : gone_) pops_.insert(one.pop->id());
  }

  absl::Status Apply(std::vector<Rewrite>* done) {
    std::vector<Node*> values;
    for (const Accumulator& one : gone_) {
      values.push_back(one.value().node);
      const auto instead = InsteadOf(one);
      if (!instead.ok()) return instead.status();
      done->push_back({one.push->name(), instead->node->name()});
      const absl::Status moved = MoveOutput(one.pop, 1, *instead, graph_);
      if (!moved.ok()) return moved;
      HandOver(one.pushed, loops_.ahead.variable, graph_);
      HandOver(one.popped, loops_.back.variable, graph_);
      RemoveAccumulator(one, graph_);
    }
    RemoveUnusedValues(values, loops_.ahead.variable.next, graph_);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Source> InsteadOf(const Accumulator& accumulator) {
    const auto again = builder_.Again(accumulator.value());
    if (!again.ok() || !IsConstantEnter(*again->node)) return again;
    if (RunInStepsAnyway(*accumulator.pop, body_, pops_)) return again;
    return builder_.InStepsTaken(*again);
  }

  const std::vector<Accumulator> gone_;
  const LoopPair& loops_;
  Graph* const graph_;
  StepValueBuilder builder_;
  NodeIds body_, pops_;
};

// Replaces those of `all`, the accumulators of one backward loop, that Choose selects.
absl::Status ReplaceSome(const std::vector<Accumulator>& all, const Node& forward, Graph* graph,
                         std::vector<Rewrite>* done) {
  const Node& backward = *InputOf(*all.front().popped.gate, 1).node;
  const auto loops = LoopPair::Of(forward, backward);
  if (!loops || !HasKernels(*loops)) return absl::OkStatus();
  return Replacement(Choose(all, *loops), *loops, graph).Apply(done);
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
