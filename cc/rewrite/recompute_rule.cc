#include "cc/rewrite/rules.h"

#include <algorithm>

#include "cc/base/switches.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/loop_count.h"
#include "cc/flow/loop_variable.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/pushed_list.h"
#include "cc/rewrite/recomputable_value.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

// The nodes per iteration of all lists that are packed into one: Merge, Switch, push or pop, and
// NextIteration, in the forward and in the backward loop. Each list adds about one node.
constexpr int kNodesPerList = 8;

constexpr char kKeptValue[] =
    "a value that follows from the number of the iteration is kept for each iteration";

// Whether the bound of the list never makes it reject an element that the loop of `forward` pushes:
// there is no bound, or it is the limit of the loop's iterations.
bool HasRoom(const Node& list, const Node& forward) {
  const Source bound = Origin(InputOf(list, 1));
  const auto most = IntegerOf(bound);
  return most == -1 || StopsAt(forward, [&](Source limit) {
           return limit == bound || (most && IntegerOf(limit) == most);
         });
}

// Whether the element shape of the list never makes it reject an element of `shape`.
bool Takes(const Node& list, const RecomputableValues::Shape& shape) {
  const Source asked = InputOf(list, 0);
  if (IntegerOf(asked) == -1) return true;
  const auto sizes = IntegersOf(asked);
  return sizes &&
         std::equal(sizes->begin(), sizes->end(), shape.begin(), shape.end(),
                    [](int64_t of_list, int64_t size) { return of_list == -1 || of_list == size; });
}

// Whether nodes that wait for the Exit of the list in the backward loop, if there are any, can wait
// for the Exit of the loop's count.
bool CanMoveControlEdges(const PushedList& list, const LoopPair& loops) {
  const Node* const exit = list.popped.exit;
  return exit == nullptr || !IsWaitedFor(*exit) || loops.back.variable.exit != nullptr;
}

// Whether `list`, of a recomputable value of that shape, can be replaced by the value.
bool CanReplace(const PushedList& list, const RecomputableValues::Shape& shape,
                const LoopPair& loops, Reason* why) {
  const Node& empty = *list.pushed.initial().node;
  return why->Require(WaitsForBodyAlone(*list.push, loops.forward()),
                      "$0 waits for other nodes than the loop's condition", *list.push) &&
         why->Require(OnSameDevice(*list.pop, *loops.back.sum),
                      "$0 is on another device than the count of the loop", *list.pop) &&
         why->Require(Takes(empty, shape), "the list $0 may reject its shape", empty) &&
         why->Require(HasRoom(empty, loops.forward()),
                      "the list $0 has a limit that is not the loop's", empty) &&
         why->Require(CanMoveControlEdges(list, loops), "nodes wait for the last use of $0",
                      *list.pop);
}

bool HasKernels(const LoopPair& loops) {
  const Node& sum = *loops.back.sum;
  NodeDef def;
  (*def.mutable_attr())["T"].set_type(sum.output_type(0));
  for (const char* op : {ops::kSub, ops::kAddV2}) {
    def.set_op(op);
    if (!HasKernelOnDeviceOf(sum, def)) return false;
  }
  return true;
}

// The lists popped by one backward loop that the rule replaces (rules.h says why).
std::vector<PushedList> Choose(const std::vector<PushedList>& all, const LoopPair& loops,
                               Outcome* outcome) {
  RecomputableValues values(loops);
  static const bool without_counted = IsLeftOut("counted_values");
  std::vector<PushedList> once, per_iteration;
  for (const PushedList& one : all) {
    const auto shape = values.ShapeOf(one.value());
    if (!shape) continue;
    const bool is_same = ReadsListMetadata(*one.value().node);
    if (!is_same && (without_counted || !values.FollowsFromCount(one.value()))) continue;
    Reason why;
    if (CanReplace(one, *shape, loops, &why)) {
      (is_same ? once : per_iteration).push_back(one);
    } else {
      outcome->Missed(*one.push, kKeptValue, why);
    }
  }
  std::vector<Source> from_count;
  for (const PushedList& one : per_iteration) from_count.push_back(one.value());
  const int saved = kNodesPerList + static_cast<int>(per_iteration.size());
  if (once.size() + per_iteration.size() == all.size() &&
      values.NodesPerIteration(from_count) < saved) {
    once.insert(once.end(), per_iteration.begin(), per_iteration.end());
  }
  return once;
}

// Whether every reader of the popped value would still run only in iterations whose condition is
// true if it read a loop constant instead. This holds for a reader that also reads or waits for
// another node of the body. It does not hold for a Merge, which runs if any of its inputs is live,
// nor for a NextIteration, which would start iterations without end.
bool RunsInTakenIterationsAnyway(const Node& pop, const NodeIds& body, const NodeIds& pops) {
  return std::all_of(pop.out_edges().begin(), pop.out_edges().end(), [&](const Edge* edge) {
    const Node& reader = *edge->dst();
    if (edge->src_output() != 1) return true;
    return (!reader.IsControlFlow() || reader.IsSwitch()) && RunsAfter(reader, body, pops);
  });
}

// Replaces `lists`, which one backward loop pops, by recomputed values.
absl::Status ReplaceLists(const std::vector<PushedList>& lists, const LoopPair& loops, Graph* graph,
                          Outcome* outcome) {
  const NodeIds body = BodyOf(LoopVariablesOf(loops.backward()));
  NodeIds pops;
  for (const PushedList& list : lists) pops.insert(list.pop->id());
  ValueRecomputer recomputer(loops, graph);
  std::vector<Node*> values;
  for (const PushedList& list : lists) {
    values.push_back(list.value().node);
    TF_ASSIGN_OR_RETURN(Source instead, recomputer.Recompute(list.value()));
    // It must be dead in the last iteration if a reader depends on that.
    if (IsConstantEnter(*instead.node) && !RunsInTakenIterationsAnyway(*list.pop, body, pops)) {
      TF_ASSIGN_OR_RETURN(instead, recomputer.LiveInTakenIterations(instead));
    }
    outcome->Did(list.push->name(), instead.node->name());
    TF_RETURN_IF_ERROR(MoveOutput(list.pop, 1, instead, graph));
    MoveControlEdges(list.pushed, loops.ahead.variable, graph);
    MoveControlEdges(list.popped, loops.back.variable, graph);
    RemovePushedList(list, graph);
  }
  RemoveUnusedValues(values, loops.ahead.variable.next, graph);
  return absl::OkStatus();
}

absl::Status ApplyRecompute(Node* node, Graph* graph, Outcome* outcome) {
  for (const auto& [reader, all] : PushedListsOf(*node).by_reader) {
    const Node& backward = *all.front().popped.loop_cond();
    const auto loops = LoopPair::Of(*node, backward);
    if (!loops || !HasKernels(*loops)) continue;
    TF_RETURN_IF_ERROR(ReplaceLists(Choose(all, *loops, outcome), *loops, graph, outcome));
  }
  return absl::OkStatus();
}

}  // namespace

Rule RecomputeRule() { return {"recompute", IsLoopCond, ApplyRecompute}; }

}  // namespace tensor_array_grad
