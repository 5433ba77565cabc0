// This library's own ops over TensorList variants. All other list ops have stock's names.

#include <vector>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataType;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeAndType;
using tensorflow::shape_inference::ShapeHandle;

// The first inputs of all accumulating ops, and the next one of ListAccumulate.
enum { kList, kIndex, kItem, kElementShape };

// Infers the output of an accumulating op. Its inputs must be scalars, except `kItem` and, if it is
// not negative, `vector`.
absl::Status AccumulatedListShape(InferenceContext* c, int vector) {
  ShapeHandle unused;
  for (int i = 0; i < c->num_inputs(); ++i) {
    if (i != kItem && i != vector) TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
  }
  DataType dtype;
  TF_RETURN_IF_ERROR(c->GetAttr("element_dtype", &dtype));
  ShapeHandle element = c->UnknownShape();
  const std::vector<ShapeAndType>* const known = c->input_handle_shapes_and_types(kList);
  if (known != nullptr && known->size() == 1) {
    if (known->front().dtype != dtype) {
      return absl::InvalidArgumentError(absl::StrCat(
          "ListAccumulate: the list holds ", tensorflow::DataTypeString(known->front().dtype),
          " but element_dtype is ", tensorflow::DataTypeString(dtype)));
    }
    element = known->front().shape;
    TF_RETURN_IF_ERROR(c->Merge(element, c->input(kItem), &unused));
  }
  c->set_output_handle_shapes_and_types(0, {ShapeAndType(element, dtype)});
  c->set_output(0, c->Scalar());
  return absl::OkStatus();
}

// The ops on a loop stack. TensorFlow's shape inference cannot describe what a variant of
// several lists holds, so only the scalars are inferred.

absl::Status NewLoopStackShape(InferenceContext* c) {
  ShapeHandle unused;
  for (int i = 0; i < c->num_inputs(); ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
  }
  c->set_output(0, c->Scalar());
  return absl::OkStatus();
}

// Of PushLoopStack and PopLoopStack.
absl::Status ChangedLoopStackShape(InferenceContext* c) {
  ShapeHandle unused;
  TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 0, &unused));
  c->set_output(0, c->Scalar());
  for (int i = 1; i < c->num_outputs(); ++i) c->set_output(i, c->UnknownShape());
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("TensorArrayGrad>ListAccumulate")
    .Input("list: variant")
    .Input("index: int32")
    .Input("item: element_dtype")
    .Input("element_shape: shape_type")
    .Input("num_elements: int32")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}")
    .SetShapeFn([](InferenceContext* c) { return AccumulatedListShape(c, kElementShape); })
    .Doc(R"doc(
Adds `item` to the element of a list at `index`; the input list does not change.

Equal to `AddN([list, TensorListSetItem(TensorListReserve(element_shape, num_elements), index,
item)])`, errors included, in O(log n) and without the one-element list. An element that is not set
yet counts as zero, so it becomes `item`.
The gradient of `list` is the gradient of the output, and the gradient of `item` is the element of
that gradient at `index`.

list: The list to add to, n elements of `element_dtype`.
index: Scalar, in [0, n).
item: The addend; its shape agrees with the list's element shape and with the element's.
element_shape: The element shape of the one-element list; an error if it is incompatible with the
  element shape of `list`, with which it is merged.
num_elements: The length of the one-element list; an error if `list` has another length.
output_handle: The list with the sum at `index`.
element_dtype: Type of the elements.
shape_type: Type of `element_shape`.
)doc");

REGISTER_OP("TensorArrayGrad>ListAccumulateLike")
    .Input("list: variant")
    .Input("index: int32")
    .Input("item: element_dtype")
    .Input("like: variant")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .SetShapeFn([](InferenceContext* c) { return AccumulatedListShape(c, -1); })
    .Doc(R"doc(
ListAccumulate, with the element shape and the length of another list.

list: The list to add to, n elements of `element_dtype`.
index: Scalar, in [0, n).
item: The addend; its shape agrees with the element shapes of both lists.
like: The list whose element shape and length are used: the list that was read, if `item` is the
  gradient of an element. Its elements are not read.
output_handle: The list with the sum at `index`.
element_dtype: Type of the elements.
)doc");

REGISTER_OP("TensorArrayGrad>NewLoopStack")
    .Input("lists: k * variant")
    .Output("loop_stack: variant")
    .Attr("k: int >= 1")
    .Attr("kept: int >= 0")
    .SetShapeFn(NewLoopStackShape)
    .Doc(R"doc(
Packs empty lists that will grow and shrink together into one loop stack.

lists: Empty TensorLists; each keeps its dtype, element shape and bound.
loop_stack: The stack, which only PushLoopStack and PopLoopStack read.
kept: The values of the first `kept` lists are kept; those of the others are only checked, since
  nothing reads them.
)doc");

REGISTER_OP("TensorArrayGrad>PushLoopStack")
    .Input("loop_stack: variant")
    .Input("values: T")
    .Output("output_loop_stack: variant")
    .Attr("T: list(type) >= 1")
    .SetShapeFn(ChangedLoopStackShape)
    .Doc(R"doc(
Appends one element to each list: `TensorListPushBack` of all of them, errors included.

loop_stack: The output of NewLoopStack, PushLoopStack or PopLoopStack.
values: An element for each list, in the order in which the lists were packed.
output_loop_stack: The stack of the longer lists; the input does not change.
)doc");

REGISTER_OP("TensorArrayGrad>PopLoopStack")
    .Input("loop_stack: variant")
    .Output("output_loop_stack: variant")
    .Output("values: T")
    .Attr("T: list(type) >= 0")
    .SetShapeFn(ChangedLoopStackShape)
    .Doc(R"doc(
Removes the last element of each list: `TensorListPopBack` of all of them, errors included.

loop_stack: The output of PushLoopStack or PopLoopStack.
output_loop_stack: The stack of the shorter lists; the input does not change.
values: The last element of each list that is kept, in the order in which the lists were packed.
)doc");

}  // namespace tensor_array_grad
