#include "cc/graph/accumulate_rule.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataType;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

constexpr char kAccumulate[] = "TensorArrayGrad>ListAccumulate";

// A list of which one element is set: SetItem(Reserve(shape, n), index, item).
struct OneElementList {
  Node* set_item;
  Node* reserve;

  // The inputs of the accumulate that adds this list to `list`.
  std::vector<Source> Inputs(Source list) const {
    return {list, InputOf(*set_item, 1), InputOf(*set_item, 2), InputOf(*reserve, 0),
            InputOf(*reserve, 1)};
  }
};

absl::StatusOr<NodeDef> AccumulateDef(const std::string& name, const OneElementList& addend,
                                      Source list) {
  const std::vector<Source> inputs = addend.Inputs(list);
  const auto type_of = [&](int i) { return inputs[i].node->output_type(inputs[i].slot); };
  NodeDef def;
  absl::Status built = StartNode(name, kAccumulate, inputs)
                           .Attr("element_dtype", type_of(2))
                           .Attr("shape_type", type_of(3))
                           .Finalize(&def);
  if (!built.ok()) return built;
  return def;
}

bool CannotResize(const Node& set_item) {
  bool resizes;
  return !TryGetNodeAttr(set_item.attrs(), "resize_if_index_out_of_bounds", &resizes) || !resizes;
}

std::optional<OneElementList> MatchOneElementList(const Node& add, int operand) {
  Node* const set_item = InputOf(add, operand).node;
  if (set_item == nullptr || set_item->type_string() != "TensorListSetItem") return std::nullopt;
  Node* const reserve = InputOf(*set_item, 0).node;
  if (reserve == nullptr || reserve->type_string() != "TensorListReserve") return std::nullopt;
  const bool proven = HasOneConsumer(*set_item) && CannotResize(*set_item) &&
                      SameElementType(*set_item, *reserve) && OnSameDevice(*set_item, add) &&
                      OnSameDevice(*reserve, add);
  if (!proven) return std::nullopt;
  return OneElementList{set_item, reserve};
}

// The operands of one AddN, told apart.
struct Operands {
  std::vector<Source> lists;
  std::vector<OneElementList> addends;
};

Operands Split(const Node& add) {
  Operands operands;
  for (int i = 0; i < add.num_inputs(); ++i) {
    if (auto addend = MatchOneElementList(add, i)) {
      operands.addends.push_back(*addend);
    } else {
      operands.lists.push_back(InputOf(add, i));
    }
  }
  if (operands.lists.empty()) {  // something has to be added to: the first one-element list
    operands.lists.push_back({operands.addends.front().set_item, 0});
    operands.addends.erase(operands.addends.begin());
  }
  return operands;
}

// The sum of the lists: the list itself, or a shorter AddN where there are several.
absl::StatusOr<Source> SumOf(const std::vector<Source>& lists, const Node& add, Graph* graph) {
  if (lists.size() == 1) return lists.front();
  NodeDef def = add.def();
  def.clear_input();
  for (const Source& list : lists) def.add_input(absl::StrCat(list.node->name(), ":", list.slot));
  def.set_name(graph->NewName(absl::StrCat(add.name(), "/lists")));
  (*def.mutable_attr())["N"].set_i(static_cast<int64_t>(lists.size()));
  auto sum = AddReplacement(def, lists, add, {}, graph);
  if (!sum.ok()) return sum.status();
  return Source{*sum, 0};
}

// Adds the node that adds `addend` to `list`, in the place of `add`.
absl::StatusOr<Source> AddLink(const std::string& name, const OneElementList& addend, Source list,
                               Node& add, Graph* graph) {
  const auto def = AccumulateDef(name, addend, list);
  if (!def.ok()) return def.status();
  const auto link = AddReplacement(*def, addend.Inputs(list), add,
                                   {addend.reserve, addend.set_item, &add}, graph);
  if (!link.ok()) return link.status();
  return Source{*link, 0};
}

}  // namespace

absl::Status AccumulateRule::Apply(Node* node, Graph* graph, std::vector<Rewrite>* done) const {
  if (node->num_outputs() != 1 || node->output_type(0) != tensorflow::DT_VARIANT) {
    return absl::OkStatus();
  }
  const Operands operands = Split(*node);
  if (operands.addends.empty()) return absl::OkStatus();
  // Everything that can refuse comes first; from here on the graph changes.
  const auto probe = AccumulateDef("probe", operands.addends.front(), operands.lists.front());
  if (!probe.ok() || !HasKernelOnDeviceOf(*node, *probe)) return absl::OkStatus();

  auto sum = SumOf(operands.lists, *node, graph);
  for (const OneElementList& addend : operands.addends) {
    if (!sum.ok()) return sum.status();
    // The last link takes the name of the sum, by which an error finds the user's line.
    const bool last = &addend == &operands.addends.back();
    const std::string name =
        last ? node->name() : graph->NewName(absl::StrCat(node->name(), "/accumulate"));
    done->push_back({absl::StrCat(addend.set_item->name(), ", ", node->name()), name});
    sum = AddLink(name, addend, *sum, *node, graph);
  }
  if (!sum.ok()) return sum.status();
  const absl::Status moved = MoveConsumers(node, sum->node, graph);
  if (!moved.ok()) return moved;
  graph->RemoveNode(node);
  for (const OneElementList& addend : operands.addends) {
    graph->RemoveNode(addend.set_item);
    RemoveIfUnused(addend.reserve, graph);
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
