#include <string>
#include <utility>
#include <vector>

#include "cc/base/switches.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/rules.h"
#include "cc/rewrite/zero_rows.h"
#include "cc/sums/slice_addend.h"
#include "cc/sums/sum_tree.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

constexpr char kNoKernel[] =
    "the device of the sum, $0, has no kernel of this library for the addition of a part";

// Collects the attributes and inputs of an AddSlices or SliceGradients node. For addends in
// branches, adds SliceGradients nodes and Merges of their variants.
class Packer {
 public:
  // For a node that `start` describes but for its addends, and that replaces a part of `place`.
  Packer(NodeDef start, const Node& place, Graph* graph)
      : def(std::move(start)), place_(place), graph_(graph) {}

  // Appends `addend` to `def` and `inputs`, and the nodes that it replaces to `replaced`. For
  // branches it appends a second Merge, of variants, which replaces the first.
  absl::Status Add(const Addend& addend) {
    std::vector<Source> from = addend.inputs;
    if (addend.kind == Addend::kBranches) {
      TF_ASSIGN_OR_RETURN(from.emplace_back(), Merge(addend));
    } else {
      replaced.insert(replaced.end(), addend.nodes.begin(), addend.nodes.end());
    }
    if (addend.kind == Addend::kSum) {
      for (const Addend& part : addend.parts) TF_RETURN_IF_ERROR(Add(part));
      return absl::OkStatus();
    }
    ++addends;
    OpOf(addend).AppendTo(&(*def.mutable_attr())[SliceGradientOp::kAttribute]);
    auto* const types = (*def.mutable_attr())["Targs"].mutable_list();
    for (const Source& input : from) types->add_type(input.node->output_type(input.slot));
    inputs.insert(inputs.end(), from.begin(), from.end());
    return absl::OkStatus();
  }

  // Adds the node.
  absl::StatusOr<Source> Finish(const std::string& name) {
    def.set_name(name);
    return AddReplacement(std::move(def), inputs, place_, replaced, graph_);
  }

  NodeDef def;
  std::vector<Source> inputs;
  std::vector<Node*> replaced;
  int addends = 0;  // how many `def` has

 private:
  // Adds a Merge of variants that replaces that of `addend`.
  absl::StatusOr<Source> Merge(const Addend& addend) {
    std::vector<Source> variants;
    for (const Addend& part : addend.parts) {
      TF_ASSIGN_OR_RETURN(variants.emplace_back(), Variant(part));
    }
    const Node& merge = *addend.at.node;
    NodeDef of_variants = merge.def();
    of_variants.set_name(NewName(merge, "slices", graph_));
    (*of_variants.mutable_attr())["T"].set_type(DT_VARIANT);
    return AddReplacement(std::move(of_variants), variants, merge, addend.nodes, graph_);
  }

  // Adds a node whose variant output holds `part`.
  absl::StatusOr<Source> Variant(const Addend& part) {
    if (part.kind == Addend::kBranches) return Merge(part);
    const Node& place = part.nodes.empty() ? place_ : *part.nodes.front();
    NodeDef start;
    start.set_op(ops::kSliceGradients);
    Packer packer(std::move(start), place, graph_);
    TF_RETURN_IF_ERROR(packer.Add(part));
    return packer.Finish(NewName(place, "slices", graph_));
  }

  const Node& place_;
  Graph* const graph_;
};

// Shrinks zeros that come with rows of an operand (zero_rows.h).
absl::Status ShrinkAllZeroRows(const Addend& sum, Graph* graph) {
  static const bool is_left_out = IsLeftOut("zero_rows");
  for (int i = 0; i < static_cast<int>(sum.parts.size()); ++i) {
    const Addend& operand = sum.parts[i];
    if (!is_left_out && operand.kind == Addend::kPart && i != FirstOf(sum) &&
        operand.at.node->type_string() == ops::kUnsortedSegmentSum) {
      TF_RETURN_IF_ERROR(ShrinkZeroRows(*operand.at.node, graph));
    }
  }
  return absl::OkStatus();
}

// Whether `node` is the Add by which a TF1 loop adds the gradient of an iteration to the running
// sum. Others are left: a program adds padded tensors outside of loops too.
bool AddsInLoop(const Node& node) {
  const std::string& op = node.type_string();
  return (op == ops::kAdd || op == ops::kAddV2) && HasOneConsumer(node) &&
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

absl::Status ApplySliceSum(Node* node, Graph* graph, Outcome* outcome) {
  if (!IsSummed(node->output_type(0)) || node->num_inputs() < 2) return absl::OkStatus();
  const bool is_add = !IsAddN(*node);
  const Addend sum = MatchSum(node, slice_pattern, outcome);
  const int first = FirstOf(sum);
  NodeDef def;
  def.set_op(ops::kAddSlices);
  (*def.mutable_attr())["T"].set_type(node->output_type(0));
  Reason why;
  const bool has_kernel = why.Require(HasKernelOnDeviceOf(*node, def), kNoKernel, *node);
  const bool all_match = sum.parts[first].kind != Addend::kOther;
  if (has_kernel && all_match && !is_add && FeedsASum(*node)) return absl::OkStatus();
  if (!has_kernel || !CanFollow(sum, first, &why)) {
    LeaveSum(sum, slice_pattern, why, outcome);
    return absl::OkStatus();
  }
  TF_RETURN_IF_ERROR(ShrinkAllZeroRows(sum, graph));
  const auto add = [&](const Addend& group, int before, Source total,
                       const std::string& name) -> absl::StatusOr<Source> {
    Packer packer(def, *node, graph);
    packer.inputs = {total};
    TF_RETURN_IF_ERROR(packer.Add(group));
    auto& attributes = *packer.def.mutable_attr();
    // The operand of an Add is summed as a whole, on whichever side of the Add it is.
    attributes["before"].set_i(is_add ? packer.addends : before);
    if (is_add) attributes["operand"].set_i(before);
    return packer.Finish(name);
  };
  return ReplaceSum(sum, /*in_order=*/true, add, graph, outcome);
}

}  // namespace

Rule SliceSumRule() {
  return {"slice_sum", [](const Node& node) { return IsAddN(node) || AddsInLoop(node); },
          ApplySliceSum};
}

}  // namespace tensor_array_grad
