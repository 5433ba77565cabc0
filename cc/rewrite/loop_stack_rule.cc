#include "cc/rewrite/rules.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/function_search.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/flow/sum_order.h"
#include "cc/rewrite/pushed_list.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

constexpr char kListOfItsOwn[] =
    "the values that each iteration keeps for the gradient stay in a list of their own";
constexpr char kNoStackKernels[] = "the device of $0 has no kernels of this library for stacks";

// Whether the rounding of a result may depend on which tensors share a buffer. A function may
// contain such a sum.
bool SharingChangesSums(const Graph& graph) {
  for (const Node* node : graph.op_nodes()) {
    if (DependsOnSharing(*node) || IsFunctionCall(*node)) return true;
    if (!FunctionsNamedBy(node->def()).empty()) return true;
  }
  return false;
}

// Whether the backward loop does not read the values of `one`, or there is none.
bool IsUnread(const PushedList& one) { return one.never_read() || !IsRead(*one.pop, 1); }

bool IsUnreadFloat(const PushedList& one) {
  const Source value = one.value();
  return IsUnread(one) && !tensorflow::DataTypeIsInteger(value.node->output_type(value.slot));
}

bool HasUnreadFloats(const PushedLists& lists) {
  return absl::c_any_of(lists.never_read, IsUnreadFloat) ||
         absl::c_any_of(lists.by_reader, [](const auto& of_reader) {
           return absl::c_any_of(of_reader.second, IsUnreadFloat);
         });
}

// The pushed lists of one forward loop that become one loop stack, and the columns of its rows.
// Either one backward loop pops at least the first of them, or none of them is ever read.
//
// Several lists may share a column: those that begin as the same EmptyTensorList and to which the
// same tensor is pushed. The columns whose values the stack keeps come before the others, because
// the stack stores only how many columns it keeps.
struct PackedLists {
  std::vector<PushedList> all;
  std::vector<int> column;     // for each: the index of its value in a row
  std::vector<Source> lists;   // by column
  std::vector<Source> values;  // by column
  std::vector<DataType> kept;  // the types of the columns that are kept, which come first

  // If `keep_floats`, floating-point values that nothing pops are kept too: a sum that reads one of
  // them may be rounded differently if no list shares its buffer.
  PackedLists(std::vector<PushedList> lists_to_pack, bool keep_floats)
      : all(std::move(lists_to_pack)), keep_floats_(keep_floats) {
    // The first list's variables become those of the stack. Nodes may wait for the Exits of the
    // other lists and will wait for those of the stack, so a list that has an Exit comes first.
    const auto rank = [](const PushedList& one) {
      const LoopVariable& last = one.never_read() ? one.pushed : one.popped;
      return std::pair(one.never_read(), last.exit == nullptr);
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const PushedList& a, const PushedList& b) { return rank(a) < rank(b); });
    column.resize(all.size());
    AssignColumns(/*keep=*/true);
    for (const Source& value : values) kept.push_back(value.node->output_type(value.slot));
    AssignColumns(/*keep=*/false);
  }

  bool is_kept(size_t list) const { return static_cast<size_t>(column[list]) < kept.size(); }

 private:
  // Assigns columns to the lists whose values are kept, or to the others.
  void AssignColumns(bool keep) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (HasToBeKept(all[i]) == keep) column[i] = ColumnOf(all[i]);
    }
  }

  bool HasToBeKept(const PushedList& one) const {
    return IsUnreadFloat(one) ? keep_floats_ : !IsUnread(one);
  }

  // The column for the list and value of `one`. Adds it if there is none.
  int ColumnOf(const PushedList& one) {
    const Source list = one.pushed.initial(), value = one.value();
    size_t at = 0;
    while (at < values.size() && !(values[at] == value && lists[at] == list)) ++at;
    if (at == values.size()) {
      lists.push_back(list);
      values.push_back(value);
    }
    return static_cast<int>(at);
  }

  const bool keep_floats_;
};

absl::StatusOr<NodeDef> PackDef(const PackedLists& packed, const std::string& name) {
  tensorflow::NodeDefBuilder builder(name, ops::kNewLoopStack);
  builder.Input(NodeOuts(packed.lists)).Attr("kept", static_cast<int64_t>(packed.kept.size()));
  return Finalized(builder);
}

absl::StatusOr<NodeDef> PushDef(const PackedLists& packed) {
  const Node& first = *packed.all.front().push;
  auto builder = StartNode(first.name(), ops::kPushLoopStack, {InputOf(first, 0)});
  return Finalized(builder.Input(NodeOuts(packed.values)));
}

absl::StatusOr<NodeDef> PopDef(const PackedLists& packed) {
  const Node& first = *packed.all.front().pop;
  return Finalized(
      StartNode(first.name(), ops::kPopLoopStack, {InputOf(first, 0)}).Attr("T", packed.kept));
}

// Adds NewLoopStack and PushLoopStack. The first list's variable in the forward loop then holds the
// stack.
absl::Status InsertPush(const PackedLists& packed, const NodeDef& pack_def, const NodeDef& push_def,
                        Graph* graph) {
  const PushedList& first = packed.all.front();
  const Node& list = *packed.lists.front().node;
  TF_ASSIGN_OR_RETURN(const Source stack, AddReplacement(pack_def, packed.lists, list, {}, graph));
  TF_RETURN_IF_ERROR(graph->UpdateEdge(stack.node, 0, first.pushed.enter, 0));
  std::vector<Source> inputs = {InputOf(*first.push, 0)};
  inputs.insert(inputs.end(), packed.values.begin(), packed.values.end());
  std::vector<Node*> pushes;
  for (const PushedList& one : packed.all) pushes.push_back(one.push);
  TF_ASSIGN_OR_RETURN(const Source push,
                      AddReplacement(push_def, inputs, *first.push, pushes, graph));
  return MoveOutput(first.push, 0, push, graph);
}

// Adds PopLoopStack to the backward loop. The readers of each pop then read the list's column.
absl::Status InsertPop(const PackedLists& packed, const NodeDef& pop_def, Graph* graph) {
  const PushedList& first = packed.all.front();
  TF_ASSIGN_OR_RETURN(const Source pop,
                      AddReplacement(pop_def, {InputOf(*first.pop, 0)}, *first.pop, {}, graph));
  TF_RETURN_IF_ERROR(MoveOutput(first.pop, 0, pop, graph));
  for (size_t i = 0; i < packed.all.size(); ++i) {
    if (packed.all[i].never_read() || !packed.is_kept(i)) continue;
    TF_RETURN_IF_ERROR(MoveOutput(packed.all[i].pop, 1, {pop.node, 1 + packed.column[i]}, graph));
  }
  return absl::OkStatus();
}

// Replaces `packed` by one loop stack. The first list's variables are reused for the stack. Those
// of the other lists are removed, after their control edges have been moved to the first list's.
// Changes nothing if a kernel is missing.
absl::Status Fuse(const PackedLists& packed, Graph* graph, Outcome* outcome) {
  const PushedList& first = packed.all.front();
  // All checks come first; after them the graph changes.
  std::vector<absl::StatusOr<NodeDef>> defs{PackDef(packed, NewName(*first.push, "pack", graph)),
                                            PushDef(packed)};
  if (!first.never_read()) defs.push_back(PopDef(packed));
  for (const auto& def : defs) {
    Reason why;
    if (!def.ok() ||
        !why.Require(HasKernelOnDeviceOf(*first.push, *def), kNoStackKernels, *first.push)) {
      outcome->Missed(*first.push, kListOfItsOwn, why);
      return absl::OkStatus();
    }
  }
  for (const PushedList& one : packed.all) outcome->Did(one.push->name(), first.push->name());
  TF_RETURN_IF_ERROR(InsertPush(packed, *defs[0], *defs[1], graph));
  graph->RemoveNode(first.push);
  if (!first.never_read()) {
    TF_RETURN_IF_ERROR(InsertPop(packed, *defs[2], graph));
    RemoveUnused({first.pop, InputOf(*first.pop, 1).node}, graph);
  }
  for (size_t i = 1; i < packed.all.size(); ++i) {
    MoveControlEdges(packed.all[i].pushed, first.pushed, graph);
    if (!packed.all[i].never_read()) MoveControlEdges(packed.all[i].popped, first.popped, graph);
    RemovePushedList(packed.all[i], graph);
  }
  return absl::OkStatus();
}

std::map<std::string, std::vector<PushedList>> ByDevice(const std::vector<PushedList>& lists) {
  std::map<std::string, std::vector<PushedList>> found;
  for (const PushedList& one : lists) found[one.push->assigned_device_name()].push_back(one);
  return found;
}

// The whole graph is searched only for a loop that has such values: a graph may have many loops.
absl::Status ApplyLoopStack(Node* node, Graph* graph, Outcome* outcome) {
  PushedLists found = PushedListsOf(*node);
  for (const auto& [push, why] : found.left) outcome->Missed(*push, kListOfItsOwn, why);
  if (found.never_read.empty() && found.by_reader.empty()) return absl::OkStatus();
  const bool keep_floats = HasUnreadFloats(found) && SharingChangesSums(*graph);
  auto never_read = ByDevice(found.never_read);
  for (const auto& [reader, lists] : found.by_reader) {
    for (auto& [device, all] : ByDevice(lists)) {
      // Those that are never read are packed with those of the first backward loop that pops here.
      auto more = never_read.extract(device);
      if (!more.empty()) absl::c_move(more.mapped(), std::back_inserter(all));
      TF_RETURN_IF_ERROR(Fuse(PackedLists(std::move(all), keep_floats), graph, outcome));
    }
  }
  for (auto& [device, all] : never_read) {
    TF_RETURN_IF_ERROR(Fuse(PackedLists(std::move(all), keep_floats), graph, outcome));
  }
  return absl::OkStatus();
}

}  // namespace

Rule LoopStackRule() { return {"loop_stack", IsLoopCond, ApplyLoopStack}; }

}  // namespace tensor_array_grad
