#include "cc/rewrite/list_addend.h"

#include <algorithm>
#include <utility>

#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

constexpr char kOtherList[] =
    "the conditional or sum that outputs it may also output $0, a list of more than one element";
constexpr char kNoPredicate[] =
    "no value shows by which predicate the conditional of $0 chooses its branch";

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

// Whether both are the same side of Switches by one predicate.
bool IsSameSide(Source a, Source b) {
  return a.slot == b.slot && a.node->type_string() == b.node->type_string() &&
         InputOf(*a.node, 1) == InputOf(*b.node, 1);
}

bool HasSide(const std::vector<Source>& sides, Source side) {
  return std::any_of(sides.begin(), sides.end(), [&](Source s) { return IsSameSide(s, side); });
}

void AppendSide(Source side, std::vector<Source>* sides) {
  if (!HasSide(*sides, side)) sides->push_back(side);
}

// Appends `source` and what it comes from by Switches alone, the innermost first. The predicate may
// not be the ref tensor of a variable, whose value may change between two Switches.
void AppendSwitchesBehind(Source source, std::vector<Source>* sides) {
  for (; source.node != nullptr && source.node->IsSwitch(); source = InputOf(*source.node, 0)) {
    const Source predicate = InputOf(*source.node, 1);
    const bool is_ref = tensorflow::IsRefType(predicate.node->output_type(predicate.slot)) ||
                        tensorflow::IsRefType(source.node->output_type(source.slot));
    if (!is_ref) AppendSide(source, sides);
  }
}

// Sets Addend::live_with from the inputs or the parts.
void FindWhatIsLiveWith(Addend* addend) {
  std::vector<Source>* const found = &addend->live_with;
  for (const Source input : addend->inputs) AppendSwitchesBehind(input, found);
  if (addend->kind == Addend::kZeros) AppendSwitchesBehind(InputOf(*addend->node, 0), found);
  if (addend->kind == Addend::kSum) {
    for (const Addend& part : addend->parts) {
      for (const Source side : part.live_with) AppendSide(side, found);
    }
  }
  if (addend->kind == Addend::kBranches) {  // live if one part is: what all parts have in common
    for (const Source side : addend->parts[0].live_with) {
      const bool of_all =
          std::all_of(addend->parts.begin(), addend->parts.end(),
                      [&](const Addend& part) { return HasSide(part.live_with, side); });
      if (of_all) AppendSide(side, found);
    }
  }
}

std::optional<Addend> MatchElement(Node* set_item, const Node& consumer, Reason* why) {
  if (!why->Require(MakesElement(*set_item), kOtherList, *set_item)) return std::nullopt;
  Node* const reserve = InputOf(*set_item, 0).node;
  const bool proven =
      why->Require(HasOneConsumer(*set_item), kSeveralReaders, *set_item) &&
      why->Require(CannotResize(*set_item), "$0 may make the list longer", *set_item) &&
      why->Require(SameElementType(*set_item, *reserve), "$0 has another dtype", *reserve) &&
      why->Require(OnSameDevice(*set_item, consumer), kOtherDevice, *set_item) &&
      why->Require(OnSameDevice(*reserve, consumer), kOtherDevice, *reserve);
  if (!proven) return std::nullopt;
  Addend found{Addend::kElement, set_item};
  found.inputs = {InputOf(*set_item, 1), InputOf(*set_item, 2)};
  found.nodes = {set_item, reserve};
  Node* const shape = InputOf(*reserve, 0).node;
  Node* const length = InputOf(*reserve, 1).node;
  auto& attributes = *found.op.mutable_attr();
  attributes["element_dtype"].set_type(found.inputs[1].node->output_type(found.inputs[1].slot));
  const Source like = ListMeasuredBy(*reserve);
  if (like.node != nullptr) {
    found.op.set_op("TensorArrayGrad>ListAccumulateLike");
    found.inputs.push_back(like);
    found.nodes.insert(found.nodes.end(), {shape, length});
  } else {
    found.op.set_op("TensorArrayGrad>ListAccumulate");
    found.inputs.insert(found.inputs.end(), {InputOf(*reserve, 0), InputOf(*reserve, 1)});
    attributes["shape_type"].set_type(shape->output_type(InputOf(*reserve, 0).slot));
  }
  FindWhatIsLiveWith(&found);
  return found;
}

// The side of Switches by the predicate of `first` that is live whenever `part` is; a null node if
// there is none, or if it is a side of `taken`.
Source OtherSide(const Addend& part, Source first, const std::vector<Source>& taken) {
  for (const Source side : part.live_with) {
    if (InputOf(*side.node, 1) == InputOf(*first.node, 1) &&
        side.node->type_string() == first.node->type_string() && !HasSide(taken, side)) {
      return side;
    }
  }
  return {nullptr, 0};
}

// Addend::sides of `parts`; empty if there are none.
std::vector<Source> FindSides(const std::vector<Addend>& parts, const Node& consumer) {
  for (const Source first : parts[0].live_with) {
    if (!OnSameDevice(*first.node, consumer)) continue;
    std::vector<Source> sides = {first};
    for (size_t i = 1; i < parts.size(); ++i) {
      const Source side = OtherSide(parts[i], first, sides);
      if (side.node == nullptr) break;
      sides.push_back(side);
    }
    if (sides.size() == parts.size()) return sides;
  }
  return {};
}

std::optional<Addend> MatchPart(Source operand, const Node& consumer, Reason* why);

// Matches a Merge or an AddN all of whose inputs are addends.
std::optional<Addend> MatchParts(Addend::Kind kind, Node* node, const Node& consumer, Reason* why) {
  if (!why->Require(HasOneConsumer(*node), kSeveralReaders, *node) ||
      !why->Require(OnSameDevice(*node, consumer), kOtherDevice, *node)) {
    return std::nullopt;
  }
  Addend found{kind, node};
  for (int i = 0; i < node->num_inputs(); ++i) {
    std::optional<Addend> part = MatchPart(InputOf(*node, i), *node, why);
    if (!part) return std::nullopt;
    found.parts.push_back(*std::move(part));
  }
  if (kind == Addend::kBranches) {
    found.sides = FindSides(found.parts, consumer);
    if (!why->Require(!found.sides.empty(), kNoPredicate, *node)) return std::nullopt;
  }
  FindWhatIsLiveWith(&found);
  return found;
}

std::optional<Addend> MatchPart(Source operand, const Node& consumer, Reason* why) {
  Node* const node = operand.node;
  if (node->type_string() == "ZerosLike" && OnSameDevice(*node, consumer)) {
    Addend found{Addend::kZeros, node};
    FindWhatIsLiveWith(&found);
    return found;
  }
  if (node->type_string() == "AddN") return MatchParts(Addend::kSum, node, consumer, why);
  return MatchAddend(operand, consumer, why);
}

}  // namespace

bool MakesElement(const Node& node) {
  return node.type_string() == "TensorListSetItem" &&
         InputOf(node, 0).node->type_string() == "TensorListReserve";
}

std::optional<Addend> MatchAddend(Source operand, const Node& consumer, Reason* why) {
  Node* const node = operand.node;
  if (node == nullptr || operand.slot != 0) return std::nullopt;
  if (node->type_string() == "Merge") return MatchParts(Addend::kBranches, node, consumer, why);
  return MatchElement(node, consumer, why);
}

void ForEachAddend(const Addend& addend, absl::FunctionRef<void(const Addend&)> visit) {
  visit(addend);
  for (const Addend& part : addend.parts) ForEachAddend(part, visit);
}

}  // namespace tensor_array_grad
