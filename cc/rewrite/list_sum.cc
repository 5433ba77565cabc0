#include "cc/rewrite/list_sum.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cc/flow/graph_names.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

constexpr char kAccumulate[] = "TensorArrayGrad>ListAccumulate";

// Whether a SetItem with an index out of range is an error. It could otherwise make the list
// longer.
bool CannotResize(const Node& set_item) {
  bool resizes;
  return !TryGetNodeAttr(set_item.attrs(), "resize_if_index_out_of_bounds", &resizes) || !resizes;
}

// The list from which `reserve` gets its element shape and its length; a null node if they do not
// come from one list.
Source ListMeasuredBy(const Node& reserve) {
  const Node* const shape = InputOf(reserve, 0).node;
  const Node* const length = InputOf(reserve, 1).node;
  const bool of_one_list = shape->type_string() == "TensorListElementShape" &&
                           length->type_string() == "TensorListLength" &&
                           InputOf(*shape, 0) == InputOf(*length, 0) &&
                           OnSameDevice(*shape, reserve) && OnSameDevice(*length, reserve);
  return of_one_list ? InputOf(*shape, 0) : Source{nullptr, 0};
}

// The sum of `lists`, the operands that are not addends: the only list, or a shorter AddN.
absl::StatusOr<Source> SumOf(const std::vector<Source>& lists, const Node& add, Graph* graph) {
  if (lists.size() == 1) return lists.front();
  NodeDef def = add.def();
  def.set_name(graph->NewName(absl::StrCat(add.name(), "/lists")));
  (*def.mutable_attr())["N"].set_i(static_cast<int64_t>(lists.size()));
  return AddReplacement(std::move(def), lists, add, {}, graph);
}

// The nodes whose control inputs a link of the chain takes over.
std::vector<Node*> ReplacedBy(const Addend& addend, Node* add) {
  std::vector<Node*> replaced = {add};
  if (addend.waits) replaced.insert(replaced.end(), addend.nodes.begin(), addend.nodes.end());
  return replaced;
}

// A link of the chain that is this library's op.
absl::StatusOr<Source> AddOwnLink(const Addend& addend, const std::string& name, Source list,
                                  Node* add, Graph* graph) {
  std::vector<Source> inputs = {list};
  inputs.insert(inputs.end(), addend.inputs.begin(), addend.inputs.end());
  NodeDef def = addend.op;
  def.set_name(name);
  return AddReplacement(std::move(def), inputs, *add, ReplacedBy(addend, add), graph);
}

tensorflow::DataType ElementType(const Addend& addend) {
  return addend.op.attr().at("element_dtype").type();
}

// Adds nodes of stock's ops in place of an addend.
class StockLink {
 public:
  StockLink(const Addend& addend, Node* add, Graph* graph)
      : addend_(addend), add_(add), graph_(graph) {}

  // SetItem(list, i, AddN(GetItem(list, i, Shape(x)), x)), with that name. The write finds the only
  // reference to the list, because the sum needs the read, and so works in place. AddN refuses
  // values of different shapes, as the sum of two lists does. All nodes wait for what the replaced
  // nodes waited for, since the read fails if the index is out of range.
  absl::StatusOr<Source> Add(const std::string& name, Source list) {
    const Source index = addend_.inputs[0], value = addend_.inputs[1];
    TF_ASSIGN_OR_RETURN(const Source shape, AddNode("Shape", {value}));
    TF_ASSIGN_OR_RETURN(const Source before, AddNode("TensorListGetItem", {list, index, shape}));
    TF_ASSIGN_OR_RETURN(const Source sum, AddNode("AddN", {before, value}));
    return AddNode("TensorListSetItem", {list, index, sum}, name);
  }

 private:
  absl::StatusOr<Source> AddNode(absl::string_view op, const std::vector<Source>& inputs,
                                 std::string name = "") {
    if (name.empty()) name = graph_->NewName(absl::StrCat(add_->name(), "/", op));
    const bool takes_list = op == "AddN";
    auto builder = StartNode(name, op.data(), takes_list ? absl::Span<const Source>() : inputs);
    if (takes_list) builder.Input(NodeOuts(inputs));
    if (op == "TensorListGetItem") builder.Attr("element_dtype", ElementType(addend_));
    TF_ASSIGN_OR_RETURN(NodeDef def, Finalized(builder));
    return AddReplacement(std::move(def), inputs, *add_, ReplacedBy(addend_, add_), graph_);
  }

  const Addend& addend_;
  Node* const add_;
  Graph* const graph_;
};

// Whether the device of `add` has all kernels of a StockLink. On a GPU, stock computes integers in
// the memory of the CPU; they are left alone.
bool CanUseStockOps(const Addend& addend, const Node& add) {
  const tensorflow::DataType type = ElementType(addend);
  const bool on_cpu = absl::StrContains(add.assigned_device_name(), "device:CPU:");
  if (!on_cpu && !tensorflow::DataTypeIsFloating(type) && !tensorflow::DataTypeIsComplex(type)) {
    return false;
  }
  for (const char* op : {"Shape", "TensorListGetItem", "AddN", "TensorListSetItem"}) {
    NodeDef def;
    def.set_op(op);
    for (const char* attribute : {"T", "element_dtype"}) {
      (*def.mutable_attr())[attribute].set_type(type);
    }
    (*def.mutable_attr())["out_type"].set_type(tensorflow::DT_INT32);
    if (!HasKernelOnDeviceOf(add, def)) return false;
  }
  return true;
}

// Adds a link of the chain to the graph: nodes that add `addend` to `list`, on the device of `add`.
absl::StatusOr<Source> AddLink(const Addend& addend, const std::string& name, Source list,
                               Node* add, Graph* graph) {
  return HasKernelOnDeviceOf(*add, addend.op) ? AddOwnLink(addend, name, list, add, graph)
                                              : StockLink(addend, add, graph).Add(name, list);
}

}  // namespace

std::optional<Addend> MatchOneElementList(Source operand, const Node& consumer) {
  Node* const set_item = operand.node;
  if (set_item == nullptr || set_item->type_string() != "TensorListSetItem") return std::nullopt;
  Node* const reserve = InputOf(*set_item, 0).node;
  if (reserve == nullptr || reserve->type_string() != "TensorListReserve") return std::nullopt;
  const bool proven = HasOneConsumer(*set_item) && CannotResize(*set_item) &&
                      SameElementType(*set_item, *reserve) && OnSameDevice(*set_item, consumer) &&
                      OnSameDevice(*reserve, consumer);
  if (!proven) return std::nullopt;
  Addend found{{}, {InputOf(*set_item, 1), InputOf(*set_item, 2)}, {set_item, reserve}};
  Node* const shape = InputOf(*reserve, 0).node;
  Node* const length = InputOf(*reserve, 1).node;
  auto& attributes = *found.op.mutable_attr();
  attributes["element_dtype"].set_type(found.inputs[1].node->output_type(found.inputs[1].slot));
  const Source like = ListMeasuredBy(*reserve);
  if (like.node != nullptr) {
    found.op.set_op(kAccumulateLike);
    found.inputs.push_back(like);
    found.nodes.insert(found.nodes.end(), {shape, length});
  } else {
    found.op.set_op(kAccumulate);
    found.inputs.insert(found.inputs.end(), {InputOf(*reserve, 0), InputOf(*reserve, 1)});
    attributes["shape_type"].set_type(shape->output_type(InputOf(*reserve, 0).slot));
  }
  return found;
}

absl::Status AccumulateInstead(Node* add, std::map<int, Addend> addends, Graph* graph,
                               std::vector<Rewrite>* done) {
  if (static_cast<int>(addends.size()) == add->num_inputs()) addends.erase(addends.begin());
  if (addends.empty()) return absl::OkStatus();
  // All checks come first; after them the graph changes.
  for (const auto& [operand, addend] : addends) {
    const bool possible = HasKernelOnDeviceOf(*add, addend.op) ||
                          (addend.has_stock_form && CanUseStockOps(addend, *add));
    if (!possible) return absl::OkStatus();
  }
  std::vector<Source> lists;
  for (int i = 0; i < add->num_inputs(); ++i) {
    if (addends.count(i) == 0) lists.push_back(InputOf(*add, i));
  }
  TF_ASSIGN_OR_RETURN(Source sum, SumOf(lists, *add, graph));
  for (const auto& [operand, addend] : addends) {
    // The last link gets the name of the sum, so that errors name the node of the user's program.
    const bool last = operand == addends.rbegin()->first;
    const std::string name =
        last ? add->name() : graph->NewName(absl::StrCat(add->name(), "/accumulate"));
    done->push_back({absl::StrCat(addend.nodes.front()->name(), ", ", add->name()), name});
    TF_ASSIGN_OR_RETURN(sum, AddLink(addend, name, sum, add, graph));
  }
  std::vector<Node*> feeding;
  for (const auto& [operand, addend] : addends) {
    feeding.insert(feeding.end(), addend.nodes.begin(), addend.nodes.end());
  }
  return Replace(add, sum.node, feeding, graph);
}

}  // namespace tensor_array_grad
