#include "cc/rewrite/rules.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cc/flow/graph_names.h"
#include "cc/rewrite/list_addend.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

constexpr char kWholeList[] =
    "the gradient of a read from an array is made and added as a list of all elements";
constexpr char kNoKernels[] = "the device of the sum, $0, has no kernels to add one element";

bool IsSumOfLists(const Node& node) {
  return node.type_string() == "AddN" && node.output_type(0) == DT_VARIANT;
}

DataType ElementType(const Addend& element) { return element.op.attr().at("element_dtype").type(); }

// Whether the device of `add` has all kernels of a stock form of `element` (AddInStockOps). On a
// GPU, stock computes integers in the memory of the CPU; they are left alone.
bool CanUseStockOps(const Addend& element, const Node& add) {
  const DataType type = ElementType(element);
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
    (*def.mutable_attr())["out_type"].set_type(DT_INT32);
    if (!HasKernelOnDeviceOf(add, def)) return false;
  }
  return true;
}

// A Switch like that of `side`, for lists.
NodeDef SwitchOfLists(Source side) {
  const Node& node = *side.node;
  NodeDef def;
  def.set_op(node.type_string());
  (*def.mutable_attr())["T"].set_type(DT_VARIANT);
  if (const tensorflow::AttrValue* outputs = node.attrs().Find("num_outs")) {
    (*def.mutable_attr())["num_outs"] = *outputs;
  }
  return def;
}

enum class Form { kNone, kOwn, kStock };

// The ops that can add all elements of `addend` on the device of `add`.
Form FormOf(const Addend& addend, const Node& add) {
  bool any = false, own = true, stock = true;
  ForEachAddend(addend, [&](const Addend& each) {
    if (each.kind == Addend::kBranches) {
      const bool has_switch = HasKernelOnDeviceOf(add, SwitchOfLists(each.sides[0]));
      own &= has_switch;
      stock &= has_switch;
    } else if (each.kind == Addend::kElement) {
      any = true;
      own &= HasKernelOnDeviceOf(add, each.op);
      stock &= CanUseStockOps(each, add);
    }
  });
  if (!any) return Form::kNone;
  return own ? Form::kOwn : stock ? Form::kStock : Form::kNone;
}

// Adds the nodes that add addends of `add` to a list.
//
// Every new node is dead if and only if the node that it replaces is dead or the AddN would have
// been. In the branch of a conditional, this is so because the sum comes there through a Switch.
class ListAdder {
 public:
  using Added = absl::StatusOr<Source>;
  using Nodes = std::vector<Node*>;

  // With the ops of `form`.
  ListAdder(const Node* add, Form form, Graph* graph) : add_(add), form_(form), graph_(graph) {}

  std::string NewName(absl::string_view op) {
    return graph_->NewName(absl::StrCat(add_->name(), "/", op));
  }

  // A shorter AddN of lists.
  Added AddSum(const std::vector<Source>& lists, const Nodes& replaced, const std::string& name) {
    NodeDef def = add_->def();
    (*def.mutable_attr())["N"].set_i(static_cast<int64_t>(lists.size()));
    return Insert(std::move(def), lists, replaced, name);
  }

  Added Add(const Addend& addend, Source list, const Nodes& replaced, const std::string& name) {
    switch (addend.kind) {
      case Addend::kElement:
        return AddElement(addend, list, replaced, name);
      case Addend::kZeros:
        return AddZeros(addend, list, replaced, name);
      case Addend::kSum:
        return AddParts(addend, list, replaced, name);
      case Addend::kBranches:
        break;
    }
    return AddInBranches(addend, list, replaced, name);
  }

 private:
  // Adds the node `def`, which waits for what the nodes in `replaced` wait for.
  Added Insert(NodeDef def, const std::vector<Source>& inputs, const Nodes& replaced,
               std::string name) {
    def.set_name(std::move(name));
    return AddReplacement(std::move(def), inputs, *add_, replaced, graph_);
  }

  Added Finish(tensorflow::NodeDefBuilder builder, const std::vector<Source>& inputs,
               const Nodes& replaced) {
    TF_ASSIGN_OR_RETURN(NodeDef def, Finalized(builder));
    return AddReplacement(std::move(def), inputs, *add_, replaced, graph_);
  }

  Added AddElement(const Addend& element, Source list, Nodes replaced, const std::string& name) {
    replaced.insert(replaced.end(), element.nodes.begin(), element.nodes.end());
    if (form_ == Form::kStock) return AddInStockOps(element, list, replaced, name);
    std::vector<Source> inputs = {list};
    inputs.insert(inputs.end(), element.inputs.begin(), element.inputs.end());
    return Insert(element.op, inputs, replaced, name);
  }

  // SetItem(list, i, AddN(GetItem(list, i, Shape(x)), x)). The write finds the only reference to
  // the list, because the sum needs the read, and so works in place. AddN refuses values of
  // different shapes, as the sum of two lists does. All nodes wait for what the replaced nodes
  // waited for, since the read fails if the index is out of range.
  Added AddInStockOps(const Addend& element, Source list, const Nodes& replaced,
                      const std::string& name) {
    const Source index = element.inputs[0], value = element.inputs[1];
    const auto add = [&](tensorflow::NodeDefBuilder builder, const std::vector<Source>& inputs) {
      return Finish(std::move(builder), inputs, replaced);
    };
    TF_ASSIGN_OR_RETURN(Source node, add(StartNode(NewName("Shape"), "Shape", {value}), {value}));
    TF_RETURN_IF_ERROR(WaitForReserve(element, node.node));
    const std::vector<Source> read = {list, index, node};
    TF_ASSIGN_OR_RETURN(node, add(StartNode(NewName("GetItem"), "TensorListGetItem", read)
                                      .Attr("element_dtype", ElementType(element)),
                                  read));
    const std::vector<Source> terms = {node, value};
    tensorflow::NodeDefBuilder sum(NewName("AddN"), "AddN");
    sum.Input(NodeOuts(terms));
    TF_ASSIGN_OR_RETURN(node, add(std::move(sum), terms));
    const std::vector<Source> write = {list, index, node};
    return add(StartNode(name, "TensorListSetItem", write), write);
  }

  // Makes `node` wait for the inputs of the Reserve, which no node of the stock form reads. So the
  // stock form is dead if one of them is. If both are of one list, the length is enough.
  absl::Status WaitForReserve(const Addend& element, Node* node) {
    const Node& reserve = *element.nodes[1];
    const bool of_one_list = element.inputs.size() == 3;
    for (int i = of_one_list ? 1 : 0; i < 2; ++i) {
      Source input = InputOf(reserve, i);
      if (input.node->IsSwitch()) {  // a control edge from a Switch does not tell the side
        TF_ASSIGN_OR_RETURN(input,
                            Finish(StartNode(NewName("like"), "Identity", {input}), {input}, {}));
      }
      graph_->AddControlEdge(input.node, node);
    }
    return absl::OkStatus();
  }

  // With stock's kernels, zeros cost as much as a list with values. They are not added then, and
  // the Identity only waits until their list is live, as they did.
  Added AddZeros(const Addend& zeros, Source list, Nodes replaced, const std::string& name) {
    if (form_ == Form::kOwn) return AddSum({list, {zeros.node, 0}}, replaced, name);
    replaced.push_back(zeros.node);
    const Source read = InputOf(*zeros.node, 0);
    TF_ASSIGN_OR_RETURN(const Source like,
                        Finish(StartNode(NewName("like"), "Identity", {read}), {read}, replaced));
    TF_ASSIGN_OR_RETURN(const Source same, Finish(StartNode(name, "Identity", {list}), {list}, {}));
    graph_->AddControlEdge(like.node, same.node);
    return same;
  }

  Added AddParts(const Addend& sum, Source list, Nodes replaced, const std::string& name) {
    replaced.push_back(sum.node);
    for (const Addend& part : sum.parts) {
      const bool is_last = &part == &sum.parts.back();
      TF_ASSIGN_OR_RETURN(list, Add(part, list, replaced, is_last ? name : NewName("accumulate")));
    }
    return list;
  }

  // Brings the list into the branches by a Switch, adds each part there, and merges the results.
  Added AddInBranches(const Addend& branches, Source list, const Nodes& replaced,
                      const std::string& name) {
    const Source side = branches.sides[0];
    TF_ASSIGN_OR_RETURN(
        const Source taken,
        Insert(SwitchOfLists(side), {list, InputOf(*side.node, 1)}, replaced, NewName("Switch")));
    std::vector<Source> results;
    for (size_t i = 0; i < branches.parts.size(); ++i) {
      const Source in_branch{taken.node, branches.sides[i].slot};
      TF_ASSIGN_OR_RETURN(const Source result,
                          Add(branches.parts[i], in_branch, {}, NewName("accumulate")));
      results.push_back(result);
    }
    return Insert(branches.node->def(), results, {branches.node}, name);
  }

  const Node* const add_;
  const Form form_;
  Graph* const graph_;
};

// The nodes of `addends`, and then the Switches that bring their inputs into a branch.
std::vector<Node*> NodesOf(const std::map<int, Addend>& addends) {
  std::vector<Node*> nodes, switches;
  for (const auto& [operand, addend] : addends) {
    ForEachAddend(addend, [&](const Addend& each) {
      nodes.push_back(each.node);
      nodes.insert(nodes.end(), each.nodes.begin(), each.nodes.end());
      std::vector<Source> inputs = each.inputs;
      if (each.kind == Addend::kZeros) inputs = {InputOf(*each.node, 0)};
      for (const Source input : inputs) {
        if (input.node->IsSwitch()) switches.push_back(input.node);
      }
    });
  }
  nodes.insert(nodes.end(), switches.begin(), switches.end());
  return nodes;
}

// The operands of `add` that can be added to a list, by their indices. Notes why others that have
// an element cannot.
std::map<int, Addend> MatchElements(const Node& add, Outcome* outcome) {
  std::map<int, Addend> addends;
  for (int i = 0; i < add.num_inputs(); ++i) {
    const Source operand = InputOf(add, i);
    Reason why;
    std::optional<Addend> addend = MatchAddend(operand, add, &why);
    if (addend && why.Require(FormOf(*addend, add) != Form::kNone, kNoKernels, add)) {
      addends.emplace(i, *std::move(addend));
    } else {
      outcome->MissedOperand(add, *operand.node, MakesElement, kWholeList, why);
    }
  }
  return addends;
}

absl::Status AccumulateInstead(Node* add, Graph* graph, Outcome* outcome) {
  std::map<int, Addend> addends = MatchElements(*add, outcome);
  if (static_cast<int>(addends.size()) == add->num_inputs()) addends.erase(addends.begin());
  if (addends.empty()) return absl::OkStatus();
  std::vector<Source> lists;
  for (int i = 0; i < add->num_inputs(); ++i) {
    if (addends.count(i) == 0) lists.push_back(InputOf(*add, i));
  }
  Source sum = lists.front();
  if (lists.size() > 1) {
    ListAdder adder(add, Form::kNone, graph);
    TF_ASSIGN_OR_RETURN(sum, adder.AddSum(lists, {}, adder.NewName("lists")));
  }
  for (const auto& [operand, addend] : addends) {
    ListAdder adder(add, FormOf(addend, *add), graph);
    // The last node gets the name of `add`, so that errors name the node of the user's program.
    const bool is_last = operand == addends.rbegin()->first;
    const std::string name = is_last ? add->name() : adder.NewName("accumulate");
    outcome->Did(absl::StrCat(addend.node->name(), ", ", add->name()), name);
    TF_ASSIGN_OR_RETURN(sum, adder.Add(addend, sum, {add}, name));
  }
  return Replace(add, sum.node, NodesOf(addends), graph);
}

// The ids of `sum` and of the sums of which it is a part, as a sum in a branch is: the outermost
// first.
std::vector<int> SumsAround(const Node* sum) {
  std::vector<int> ids = {sum->id()};
  for (const Node* node = sum; HasOneConsumer(*node);) {
    node = (*node->out_edges().begin())->dst();
    if (IsSumOfLists(*node) && OnSameDevice(*node, *sum)) {
      ids.insert(ids.begin(), node->id());
    } else if (!node->IsMerge()) {
      break;
    }
  }
  return ids;
}

absl::Status ApplyAccumulateIntoList(Node* node, Graph* graph, Outcome* outcome) {
  if (!IsSumOfLists(*node)) return absl::OkStatus();
  for (const int id : SumsAround(node)) {
    Node* const sum = graph->FindNodeId(id);  // null if it was a part of an outer one
    if (sum != nullptr) TF_RETURN_IF_ERROR(AccumulateInstead(sum, graph, outcome));
  }
  return absl::OkStatus();
}

}  // namespace

Rule AccumulateIntoListRule() { return {"accumulate_into_list", IsAddN, ApplyAccumulateIntoList}; }

}  // namespace tensor_array_grad
