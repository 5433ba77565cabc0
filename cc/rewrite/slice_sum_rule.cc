#include "cc/rewrite/rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/base/switches.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/flow/sum_order.h"
#include "cc/rewrite/slice_addend.h"
#include "cc/rewrite/zero_rows.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

constexpr char kAddSlices[] = "TensorArrayGrad>AddSlices";
constexpr char kSliceGradients[] = "TensorArrayGrad>SliceGradients";
constexpr char kWholeTensor[] =
    "the gradient of an index is made as a tensor of full size and added as a whole";
constexpr char kNoKernel[] =
    "the device of the sum, $0, has no kernel of this library for the addition of a part";

// Makes attributes and inputs of AddSlices and SliceGradients nodes from addends, and adds the
// SliceGradients nodes and the Merges of their variants for addends in branches.
class Packer {
 public:
  Packer(const Node& place, Graph* graph) : place_(place), graph_(graph) {}

  // Appends `addend` to the attributes of `def` and to `inputs`, and the nodes that it replaces to
  // `replaced`. For a Merge it appends a second Merge, of variants, with the same control inputs.
  absl::Status Add(const SliceAddend& addend, NodeDef* def, std::vector<Source>* inputs,
                   std::vector<Node*>* replaced) {
    if (addend.add != nullptr) {
      replaced->push_back(addend.add);
      for (const SliceAddend& part : addend.parts) {
        TF_RETURN_IF_ERROR(Add(part, def, inputs, replaced));
      }
      return absl::OkStatus();
    }
    NodeDef taken = addend.def;
    std::vector<Source> from = addend.inputs;
    if (addend.merge != nullptr) {
      taken.set_op(kSliceGradients);
      TF_ASSIGN_OR_RETURN(from.emplace_back(), Merge(addend));
    } else {
      replaced->insert(replaced->end(), addend.nodes.begin(), addend.nodes.end());
    }
    auto& attributes = *def->mutable_attr();
    attributes["addends"].mutable_list()->add_s(taken.SerializeAsString());
    for (const Source& input : from) {
      attributes["Targs"].mutable_list()->add_type(input.node->output_type(input.slot));
      inputs->push_back(input);
    }
    return absl::OkStatus();
  }

 private:
  // Adds a Merge of variants that replaces that of `addend`.
  absl::StatusOr<Source> Merge(const SliceAddend& addend) {
    std::vector<Source> inputs;
    for (const SliceAddend& part : addend.parts) {
      TF_ASSIGN_OR_RETURN(inputs.emplace_back(), Pack(part));
    }
    NodeDef def = addend.merge->def();
    (*def.mutable_attr())["T"].set_type(DT_VARIANT);
    return AddNode(std::move(def), inputs, *addend.merge, {addend.merge});
  }

  // Adds a node whose variant output holds `part`.
  absl::StatusOr<Source> Pack(const SliceAddend& part) {
    if (part.merge != nullptr) return Merge(part);
    NodeDef def;
    def.set_op(kSliceGradients);
    std::vector<Source> inputs;
    std::vector<Node*> replaced;
    TF_RETURN_IF_ERROR(Add(part, &def, &inputs, &replaced));
    const Node& place = replaced.empty() ? place_ : *replaced.front();
    return AddNode(std::move(def), inputs, place, replaced);
  }

  absl::StatusOr<Source> AddNode(NodeDef def, const std::vector<Source>& inputs, const Node& place,
                                 const std::vector<Node*>& replaced) {
    def.set_name(graph_->NewName(absl::StrCat(place.name(), "/slices")));
    return AddReplacement(std::move(def), inputs, place, replaced, graph_);
  }

  const Node& place_;
  Graph* const graph_;
};

// Operands of one kind that follow each other.
struct Group {
  std::vector<Source> plain;
  std::vector<const SliceAddend*> slices;
  int before = 0;  // how many of the slices come before the operand that they are added to
};

// Groups the operands of `add` other than `first`, the first that is not an addend. Addends before
// it are in the first group.
std::vector<Group> GroupsOf(const Node& add, const std::map<int, SliceAddend>& addends, int first) {
  std::vector<Group> groups;
  for (int i = 0; i < add.num_inputs(); ++i) {
    if (i == first) continue;
    const auto found = addends.find(i);
    const bool slice = found != addends.end();
    if (groups.empty() || groups.back().plain.empty() == !slice) groups.emplace_back();
    if (slice) {
      groups.back().slices.push_back(&found->second);
      groups.back().before += i < first;
    } else {
      groups.back().plain.push_back(InputOf(add, i));
    }
  }
  return groups;
}

// Whether the order of the additions is known, and AddSlices can follow it. `first` is the number
// of the first operand that is not an addend.
//
// Which operands share their buffers, and so the order (sum_order.h), may depend on timing. For
// [a, g, b], where g never shares its buffer, AddN computes (a + g) + b or (g + a) + b, which are
// equal. If g may share its buffer, AddN may also compute (b + g) + a. So the order is known if the
// first or the second operand is an addend that never shares its buffer, or if there are only two
// operands.
//
// Addends before `first` are summed term by term, and `first` is added to the result. So only the
// very first of them may have several terms, as in MatchParts.
bool IsOrderKnown(const std::map<int, SliceAddend>& addends, int operands, int first) {
  bool known = false;
  for (const auto& [operand, addend] : addends) {
    known = known || operands == 2 || (operand < 2 && !addend.may_be_shared);
    if (0 < operand && operand < first && addend.terms > 1) return false;
  }
  return known;
}

// Whether `node` is the Add by which a TF1 loop adds the gradient of an iteration to the running
// sum. Others are left: a program adds padded tensors outside of loops too.
bool AddsInLoop(const Node& node) {
  const std::string& op = node.type_string();
  return (op == "Add" || op == "AddV2") && HasOneConsumer(node) &&
         (*node.out_edges().begin())->dst()->IsNextIteration();
}

// Whether the only consumer of `node`, a sum, is a Merge or the Add of a loop, possibly behind
// Identities. The sum after the Merge, or the Add, then takes its addends if possible.
bool FeedsASum(const Node& node) {
  const Node* at = &node;
  do {
    if (!HasOneConsumer(*at)) return false;
    at = (*at->out_edges().begin())->dst();
  } while (at->IsIdentity());
  return at->IsMerge() || AddsInLoop(*at);
}

// An AddSlices of the dtype of `add` that adds nothing.
NodeDef EmptyAddSlices(const Node& add) {
  NodeDef def;
  def.set_op(kAddSlices);
  (*def.mutable_attr())["T"].set_type(add.output_type(0));
  return def;
}

// Adds the node that adds `group`, operands of `add`, to `sum`. The last node gets the name of
// `add`, so that errors name the node of the user's program.
absl::StatusOr<Source> AddGroup(const Group& group, Source sum, Node* add, bool is_last,
                                Graph* graph) {
  NodeDef def = group.slices.empty() ? add->def() : EmptyAddSlices(*add);
  std::vector<Source> inputs = {sum};
  std::vector<Node*> replaced = {add};
  if (group.slices.empty()) {
    inputs.insert(inputs.end(), group.plain.begin(), group.plain.end());
    (*def.mutable_attr())["N"].set_i(static_cast<int64_t>(inputs.size()));
  } else {
    Packer packer(*add, graph);
    for (const SliceAddend* addend : group.slices) {
      TF_RETURN_IF_ERROR(packer.Add(*addend, &def, &inputs, &replaced));
    }
    auto& attributes = *def.mutable_attr();
    // The operand of an Add is summed as a whole, on whichever side of the Add it is.
    attributes["before"].set_i(IsAddN(*add) ? group.before : attributes["addends"].list().s_size());
    if (!IsAddN(*add)) attributes["operand"].set_i(group.before);
  }
  def.set_name(is_last ? add->name() : graph->NewName(absl::StrCat(add->name(), "/sum")));
  return AddReplacement(std::move(def), inputs, *add, replaced, graph);
}

// The operands of `sum` that AddSlices can take, by their indices. Notes why it cannot take others
// that are gradients of slices.
std::map<int, SliceAddend> MatchOperands(const Node& sum, Outcome* outcome) {
  Reason why;
  const bool possible = why.Require(sum.num_inputs() <= kMostInOrder, kTooManyOperands, sum) &&
                        why.Require(HasKernelOnDeviceOf(sum, EmptyAddSlices(sum)), kNoKernel, sum);
  std::map<int, SliceAddend> addends;
  for (int i = 0; i < sum.num_inputs(); ++i) {
    const Source operand = InputOf(sum, i);
    auto addend = possible ? MatchSliceAddend(operand, sum, &why) : std::nullopt;
    if (addend) {
      addends.emplace(i, *std::move(addend));
    } else {
      outcome->MissedOperand(sum, *operand.node, IsGradientOfSlice, kWholeTensor, why);
    }
  }
  return addends;
}

absl::Status ApplySliceSum(Node* node, Graph* graph, Outcome* outcome) {
  const int operands = node->num_inputs();
  if (!IsSummed(node->output_type(0)) || operands < 2) return absl::OkStatus();
  std::map<int, SliceAddend> addends = MatchOperands(*node, outcome);
  if (static_cast<int>(addends.size()) == operands) {
    if (IsAddN(*node) && FeedsASum(*node)) return absl::OkStatus();
    addends.erase(0);
  }
  int first = 0;
  while (addends.count(first) > 0) ++first;
  if (!IsOrderKnown(addends, operands, first)) {
    for (const auto& [operand, addend] : addends) {
      outcome->MissedOperand(*node, *InputOf(*node, operand).node, IsGradientOfSlice, kWholeTensor,
                             {kUnknownOrder, node});
    }
    return absl::OkStatus();
  }
  static const bool without_zero_rows = IsLeftOut("zero_rows");
  for (const auto& [operand, addend] : addends) {
    if (addend.def.op() == "UnsortedSegmentSum" && !without_zero_rows) {
      TF_RETURN_IF_ERROR(ShrinkZeroRows(*addend.nodes.back(), graph));
    }
  }
  const std::vector<Group> groups = GroupsOf(*node, addends, first);
  Source sum = InputOf(*node, first);
  for (const Group& group : groups) {
    TF_ASSIGN_OR_RETURN(sum, AddGroup(group, sum, node, &group == &groups.back(), graph));
  }
  std::vector<Node*> feeding;
  for (const auto& [operand, addend] : addends) {
    outcome->Did(absl::StrCat(addend.nodes.front()->name(), ", ", node->name()), node->name());
    feeding.insert(feeding.end(), addend.nodes.begin(), addend.nodes.end());
  }
  return Replace(node, sum.node, feeding, graph);
}

}  // namespace

Rule SliceSumRule() {
  return {"slice_sum", [](const Node& node) { return IsAddN(node) || AddsInLoop(node); },
          ApplySliceSum};
}

}  // namespace tensor_array_grad
