#include "cc/graph/list_sum.h"

#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Node;

constexpr char kAccumulate[] = "TensorArrayGrad>ListAccumulate";

bool CannotResize(const Node& set_item) {
  bool resizes;
  return !TryGetNodeAttr(set_item.attrs(), "resize_if_index_out_of_bounds", &resizes) || !resizes;
}

// The list that `reserve` makes another one like; a null node if it is made otherwise.
Source ListMeasuredBy(const Node& reserve) {
  const Node* const shape = InputOf(reserve, 0).node;
  const Node* const length = InputOf(reserve, 1).node;
  const bool of_one_list = shape->type_string() == "TensorListElementShape" &&
                           length->type_string() == "TensorListLength" &&
                           InputOf(*shape, 0) == InputOf(*length, 0) &&
                           OnSameDevice(*shape, reserve) && OnSameDevice(*length, reserve);
  return of_one_list ? InputOf(*shape, 0) : Source{nullptr, 0};
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

}  // namespace tensor_array_grad
