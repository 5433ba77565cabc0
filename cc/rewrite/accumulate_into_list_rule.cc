#include <string>
#include <utility>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/rules.h"
#include "cc/sums/list_addend.h"
#include "cc/sums/sum_tree.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

bool IsSumOfLists(const Node& node) { return IsAddN(node) && node.output_type(0) == DT_VARIANT; }

// Adds the nodes that add addends of `add` to a list: nodes with this library's ops or, if the
// device has no kernels for them because stock's list kernels are kept, with stock's.
//
// Every new node is dead if and only if the node that it replaces is dead or the AddN would have
// been. In the branch of a conditional, this is so because the sum comes there through a Switch.
class ListAdder {
 public:
  using Added = absl::StatusOr<Source>;
  using Nodes = std::vector<Node*>;

  ListAdder(const Node& add, Graph* graph) : add_(add), graph_(graph) {}

  // Adds `addend` to `list` by nodes that wait for what `replaced` waits for. The last is `name`.
  Added Add(const Addend& addend, Source list, Nodes replaced, const std::string& name) {
    if (addend.kind == Addend::kBranches) return AddInBranches(addend, list, replaced, name);
    replaced.insert(replaced.end(), addend.nodes.begin(), addend.nodes.end());
    switch (addend.kind) {
      case Addend::kZeros:
        return AddZeros(addend, list, replaced, name);
      case Addend::kSum:
        return AddParts(addend, list, replaced, name);
      default:
        return AddElement(addend, list, replaced, name);
    }
  }

 private:
  // Whether this library's list kernels are in use on the device, which have elements of float.
  bool HasOwnKernels() const {
    NodeDef op;
    op.set_op(ops::kListAccumulateLike);
    (*op.mutable_attr())["element_dtype"].set_type(DT_FLOAT);
    return HasKernelOnDeviceOf(add_, op);
  }

  std::string New(absl::string_view op) { return NewName(add_, op, graph_); }

  Added Insert(NodeDef def, const std::vector<Source>& inputs, const Nodes& replaced,
               const std::string& name) {
    def.set_name(name);
    return AddReplacement(std::move(def), inputs, add_, replaced, graph_);
  }

  Added Insert(tensorflow::NodeDefBuilder builder, const std::vector<Source>& inputs,
               const Nodes& replaced) {
    return AddReplacement(std::move(builder), inputs, add_, replaced, graph_);
  }

  Added AddElement(const Addend& element, Source list, const Nodes& replaced,
                   const std::string& name) {
    NodeDef op = AccumulateOp(element);
    if (!HasKernelOnDeviceOf(add_, op)) return AddInStockOps(element, list, replaced, name);
    std::vector<Source> inputs = {list};
    inputs.insert(inputs.end(), element.inputs.begin(), element.inputs.end());
    return Insert(std::move(op), inputs, replaced, name);
  }

  // SetItem(list, i, AddN(GetItem(list, i, Shape(x)), x)). The write finds the only reference to
  // the list, because the sum needs the read, and so works in place. AddN refuses values of
  // different shapes, as the sum of two lists does. All nodes wait for what the replaced nodes
  // waited for, since the read fails if the index is out of range.
  Added AddInStockOps(const Addend& element, Source list, const Nodes& replaced,
                      const std::string& name) {
    const Source index = element.inputs[0], value = element.inputs[1];
    TF_ASSIGN_OR_RETURN(Source node,
                        Insert(StartNode(New("Shape"), ops::kShape, {value}), {value}, replaced));
    TF_RETURN_IF_ERROR(WaitForReserve(element, node.node));
    const std::vector<Source> read = {list, index, node};
    auto get = StartNode(New("GetItem"), ops::kTensorListGetItem, read);
    get.Attr("element_dtype", value.node->output_type(value.slot));
    TF_ASSIGN_OR_RETURN(node, Insert(std::move(get), read, replaced));
    const std::vector<Source> terms = {node, value};
    tensorflow::NodeDefBuilder sum(New("AddN"), ops::kAddN);
    sum.Input(NodeOuts(terms));
    TF_ASSIGN_OR_RETURN(node, Insert(std::move(sum), terms, replaced));
    const std::vector<Source> write = {list, index, node};
    return Insert(StartNode(name, ops::kTensorListSetItem, write), write, replaced);
  }

  // Makes `node` wait for the inputs of the Reserve, which no node of the stock form reads. So the
  // stock form is dead if one of them is. If both are of one list, the length is enough.
  absl::Status WaitForReserve(const Addend& element, Node* node) {
    const Node& reserve = *InputOf(*element.at.node, 0).node;
    const bool of_one_list = element.inputs.size() == 3;
    for (int i = of_one_list ? 1 : 0; i < 2; ++i) {
      Source input = InputOf(reserve, i);
      if (input.node->IsSwitch()) {  // a control edge from a Switch does not tell the side
        TF_ASSIGN_OR_RETURN(input,
                            Insert(StartNode(New("like"), ops::kIdentity, {input}), {input}, {}));
      }
      graph_->AddControlEdge(input.node, node);
    }
    return absl::OkStatus();
  }

  // With stock's kernels, zeros cost as much as a list with values. They are not added then, and
  // the Identity only waits until their list is live, as they did.
  Added AddZeros(const Addend& zeros, Source list, Nodes replaced, const std::string& name) {
    if (HasOwnKernels()) return AddSum({list, zeros.at}, add_, replaced, name, graph_);
    replaced.push_back(zeros.at.node);
    const Source read = zeros.inputs[0];
    TF_ASSIGN_OR_RETURN(const Source like,
                        Insert(StartNode(New("like"), ops::kIdentity, {read}), {read}, replaced));
    TF_ASSIGN_OR_RETURN(const Source same,
                        Insert(StartNode(name, ops::kIdentity, {list}), {list}, {}));
    graph_->AddControlEdge(like.node, same.node);
    return same;
  }

  Added AddParts(const Addend& sum, Source list, const Nodes& replaced, const std::string& name) {
    for (const Addend& part : sum.parts) {
      const bool is_last = &part == &sum.parts.back();
      TF_ASSIGN_OR_RETURN(list, Add(part, list, replaced, is_last ? name : New("accumulate")));
    }
    return list;
  }

  // Brings the list into the branches by a Switch, adds each part there, and merges the results.
  Added AddInBranches(const Addend& branches, Source list, const Nodes& replaced,
                      const std::string& name) {
    const std::vector<Source> sides = SidesOf(branches);
    TF_ASSIGN_OR_RETURN(const Source taken,
                        Insert(SwitchOfLists(sides[0]), {list, InputOf(*sides[0].node, 1)},
                               replaced, New("Switch")));
    std::vector<Source> results;
    for (size_t i = 0; i < sides.size(); ++i) {
      TF_ASSIGN_OR_RETURN(
          results.emplace_back(),
          Add(branches.parts[i], {taken.node, sides[i].slot}, {}, New("accumulate")));
    }
    return Insert(branches.at.node->def(), results, branches.nodes, name);
  }

  const Node& add_;
  Graph* const graph_;
};

absl::Status AccumulateInstead(Node* add, Graph* graph, Outcome* outcome) {
  ListAdder adder(*add, graph);
  return ReplaceSum(
      MatchSum(add, element_pattern, outcome), /*in_order=*/false,
      [&](const Addend& group, int /*before*/, Source list, const std::string& name) {
        return adder.Add(group, list, {}, name);
      },
      graph, outcome);
}

// The ids of `sum` and of the sums of which it is a part, as a sum in a branch is: the outermost
// first.
std::vector<int> SumsAround(const Node* sum) {
  std::vector<int> ids = {sum->id()};
  for (const Node* node = sum; HasOneConsumer(*node);) {
    node = (*node->out_edges().begin())->dst();
    if (IsSumOfLists(*node) && OnSameDevice(*node, *sum)) {
      ids.insert(ids.begin(), node->id());
    } else if (!node->IsMerge() && !node->IsIdentity()) {
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
