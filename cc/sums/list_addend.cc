#include "cc/sums/list_addend.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "cc/base/op_names.h"
#include "cc/base/tensorflow_names.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

constexpr char kWholeList[] =
    "the gradient of a read from an array is made and added as a list of all elements";
constexpr char kNoKernels[] = "the device of the sum, $0, has no kernels to add one element";
constexpr char kOtherList[] =
    "the conditional or sum that outputs it may also output $0, a list of more than one element";
constexpr char kNoPredicate[] =
    "no value shows by which predicate the conditional of $0 chooses its branch";

using Sides = std::vector<Source>;  // outputs of Switches

bool MakesElement(const Node& node) {
  return node.type_string() == ops::kTensorListSetItem &&
         InputOf(node, 0).node->type_string() == ops::kTensorListReserve;
}

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
  const bool of_one_list = shape->type_string() == ops::kTensorListElementShape &&
                           length->type_string() == ops::kTensorListLength &&
                           InputOf(*shape, 0) == InputOf(*length, 0) &&
                           OnSameDevice(*shape, reserve) && OnSameDevice(*length, reserve);
  return of_one_list ? InputOf(*shape, 0) : Source{nullptr, 0};
}

// Whether the device of `sum` has all kernels of the stock form of `accumulate`. On a GPU, stock
// computes integers in the memory of the CPU; they are left alone.
bool HasStockKernels(const NodeDef& accumulate, const Node& sum) {
  const DataType type = accumulate.attr().at("element_dtype").type();
  const bool on_cpu = absl::StrContains(sum.assigned_device_name(), "device:CPU:");
  if (!on_cpu && !tensorflow::DataTypeIsFloating(type) && !tensorflow::DataTypeIsComplex(type)) {
    return false;
  }
  const auto ops = {ops::kShape, ops::kTensorListGetItem, ops::kAddN, ops::kTensorListSetItem};
  return absl::c_all_of(ops, [&](const char* op) {
    NodeDef def;
    def.set_op(op);
    for (const char* attribute : {"T", "element_dtype"}) {
      (*def.mutable_attr())[attribute].set_type(type);
    }
    (*def.mutable_attr())["out_type"].set_type(DT_INT32);
    return HasKernelOnDeviceOf(sum, def);
  });
}

// Whether both are the same side of Switches by one predicate.
bool IsSameSide(Source a, Source b) {
  return a.slot == b.slot && a.node->type_string() == b.node->type_string() &&
         InputOf(*a.node, 1) == InputOf(*b.node, 1);
}

bool HasSide(const Sides& sides, Source side) {
  return absl::c_any_of(sides, [&](Source other) { return IsSameSide(other, side); });
}

// Appends `source` and what it comes from by Switches alone, the innermost first. The predicate may
// not be the ref tensor of a variable, whose value may change between two Switches.
void AppendSwitchesBehind(Source source, Sides* sides) {
  for (; source.node != nullptr && source.node->IsSwitch(); source = InputOf(*source.node, 0)) {
    const Source predicate = InputOf(*source.node, 1);
    const bool is_ref = tensorflow::IsRefType(predicate.node->output_type(predicate.slot)) ||
                        tensorflow::IsRefType(source.node->output_type(source.slot));
    if (!is_ref && !HasSide(*sides, source)) sides->push_back(source);
  }
}

// Outputs of Switches that are live whenever the list is, one per predicate and slot. Branches are
// live if one of them is, so these are those that all branches have in common.
Sides LiveWith(const Addend& addend) {
  Sides found;
  for (const Source input : addend.inputs) AppendSwitchesBehind(input, &found);
  for (const Addend& part : addend.parts) {
    const Sides of_part = LiveWith(part);
    if (addend.kind == Addend::kSum || &part == &addend.parts.front()) {
      std::copy_if(of_part.begin(), of_part.end(), std::back_inserter(found),
                   [&](Source side) { return !HasSide(found, side); });
    } else {
      found.erase(std::remove_if(found.begin(), found.end(),
                                 [&](Source side) { return !HasSide(of_part, side); }),
                  found.end());
    }
  }
  return found;
}

bool MatchElement(Addend* found, const Node& sum, bool in_branch, Reason* why) {
  Node* const node = found->at.node;
  if (in_branch && node->type_string() == ops::kZerosLike) {
    found->kind = Addend::kZeros;
    found->inputs = InputsOf(*node);
    return why->Require(OnSameDevice(*node, sum), kOtherDevice, *node);
  }
  if (!why->Require(MakesElement(*node), kOtherList, *node)) return false;
  Node* const reserve = InputOf(*node, 0).node;
  const bool proven =
      Take(found, sum, why) &&
      why->Require(CannotResize(*node), "$0 may make the list longer", *node) &&
      why->Require(SameElementType(*node, *reserve), "$0 has another dtype", *reserve) &&
      why->Require(OnSameDevice(*reserve, sum), kOtherDevice, *reserve);
  if (!proven) return false;
  found->nodes.push_back(reserve);
  found->inputs = {InputOf(*node, 1), InputOf(*node, 2)};
  const std::vector<Source> measures = InputsOf(*reserve);
  const Source like = ListMeasuredBy(*reserve);
  if (like.node != nullptr) {
    found->inputs.push_back(like);
    for (const Source& measure : measures) found->nodes.push_back(measure.node);
  } else {
    absl::c_copy(measures, std::back_inserter(found->inputs));
  }
  const NodeDef op = AccumulateOp(*found);
  return why->Require(HasKernelOnDeviceOf(sum, op) || HasStockKernels(op, sum), kNoKernels, sum);
}

bool AcceptsBranches(const Addend& found, const Node& sum, Reason* why) {
  const Node& node = *found.at.node;
  if (found.kind == Addend::kSum || static_cast<int>(found.parts.size()) < node.num_inputs()) {
    return true;
  }
  const Sides sides = SidesOf(found);
  return why->Require(!sides.empty(), kNoPredicate, node) &&
         why->Require(HasKernelOnDeviceOf(sum, SwitchOfLists(sides[0])), kNoKernels, sum);
}

}  // namespace

const SumPattern element_pattern{MakesElement, kWholeList, MatchElement, AcceptsBranches};

NodeDef AccumulateOp(const Addend& element) {
  const auto& inputs = element.inputs;
  NodeDef op;
  auto& attributes = *op.mutable_attr();
  attributes["element_dtype"].set_type(inputs[1].node->output_type(inputs[1].slot));
  op.set_op(ops::kListAccumulateLike);
  if (inputs.size() > 3) {
    op.set_op(ops::kListAccumulate);
    attributes["shape_type"].set_type(inputs[2].node->output_type(inputs[2].slot));
  }
  return op;
}

std::vector<Source> SidesOf(const Addend& branches) {
  std::vector<Sides> of_parts;
  for (const Addend& part : branches.parts) of_parts.push_back(LiveWith(part));
  for (const Source first : of_parts[0]) {
    if (!OnSameDevice(*first.node, *branches.at.node)) continue;
    Sides sides;
    for (const Sides& of_part : of_parts) {
      const auto side = absl::c_find_if(of_part, [&](Source one) {
        return InputOf(*one.node, 1) == InputOf(*first.node, 1) &&
               one.node->type_string() == first.node->type_string() && !HasSide(sides, one);
      });
      if (side == of_part.end()) break;
      sides.push_back(sides.empty() ? first : *side);
    }
    if (sides.size() == of_parts.size()) return sides;
  }
  return {};
}

NodeDef SwitchOfLists(Source side) {
  NodeDef def = side.node->def();
  (*def.mutable_attr())["T"].set_type(DT_VARIANT);
  return def;
}

}  // namespace tensor_array_grad
