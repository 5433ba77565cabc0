// Ops that add gradients of slices to the parts of a tensor that they belong to.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace tensor_array_grad {

using tensorflow::shape_inference::InferenceContext;

REGISTER_OP("TensorArrayGrad>AddSlices")
    .Input("sum: T")
    .Input("args: Targs")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
    .Attr("Targs: list(type) >= 1")
    .Attr("addends: list(int) >= 1")
    .Attr("before: int >= 0 = 0")
    .Attr("operand: int >= -1 = -1")
    .SetShapeFn([](InferenceContext* context) {
      int operand;
      TF_RETURN_IF_ERROR(context->GetAttr("operand", &operand));
      if (operand >= 0) return tensorflow::shape_inference::UnknownShape(context);
      return tensorflow::shape_inference::UnchangedShape(context);
    })
    .Doc(R"doc(
Adds gradients of slices to the parts of a tensor that they belong to.

Equal to AddN of `sum` and the outputs of the ops `addends`, errors included, except that nothing
is added outside of a slice, where stock adds a zero: -0.0 and subnormal numbers stay. Adds in place
if nothing else refers to the buffer of `sum`, in O(values of the slices); else in a copy. If it
takes the place of an Add, operands of different shapes are broadcast as Add broadcasts them.

sum: The tensor to add to.
args: The inputs of all addends, in the order of `addends`.
output: The sum, of the shape of `sum` unless it is broadcast.
addends: Ops, each as eight numbers (cc/base/slice_gradient_op.h): StridedSliceGrad, Pad,
  UnsortedSegmentSum or ScatterNd. The output of an UnsortedSegmentSum may go through Transpose and
  Reshape, whose second inputs follow its own. The op SliceGradients denotes a variant that such a
  node output; its sum is added as a whole: sum + (g + h).
before: How many of the addends come before `sum` in the order of AddN.
operand: Which operand of an Add `sum` is, 0 or 1; the sum of all addends is the other, so `before`
  is their number. -1 if the node takes the place of an AddN.
)doc");

REGISTER_OP("TensorArrayGrad>SliceGradients")
    .Input("args: Targs")
    .Output("sum: variant")
    .Attr("Targs: list(type) >= 1")
    .Attr("addends: list(int) >= 1")
    .SetShapeFn(tensorflow::shape_inference::ScalarShape)
    .Doc(R"doc(
Keeps gradients of slices in a variant, from which AddSlices adds them.

Used in the branches of a conditional, whose Merge passes on the variant of the taken branch.

args: The inputs of all addends, in the order of `addends`.
sum: What AddN of the addends would output, errors included, in a form that takes O(values of the
  slices).
addends: As those of AddSlices; also ZerosLike, and a Fill of 0. The graph pass makes only the first
  a SliceGradients, because the order of the additions must stay.
)doc");

REGISTER_OP("TensorArrayGrad>LastRowOfZeros")
    .Input("like: T")
    .Input("limit: Tindex")
    .Output("values: T")
    .Output("indices: Tindex")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
    .Attr("Tindex: {int32, int64}")
    .SetShapeFn(tensorflow::shape_inference::UnknownShape)
    .Doc(R"doc(
The last row of ZerosLike(like) and of Range(0, limit), for an UnsortedSegmentSum of these.

The sum of the last row alone is the same, zero, and an index is out of range in the same cases.
If `like` has no rows, the outputs have none.

like: A tensor of at least one dimension.
limit: A scalar, the number of rows of `like`.
values: One row of zeros, otherwise of the shape of `like`.
indices: The number of that row, a vector of one element.
)doc");

}  // namespace tensor_array_grad
