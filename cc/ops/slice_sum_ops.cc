// Sums with gradients of slices, which are added to the parts that they belong to.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace tensor_array_grad {

REGISTER_OP("TensorArrayGrad>AddSlices")
    .Input("sum: T")
    .Input("args: Targs")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
    .Attr("Targs: list(type) >= 1")
    .Attr("addends: list(string) >= 1")
    .Attr("before: int >= 0 = 0")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape)
    .Doc(R"doc(
Adds gradients of slices to the parts of a tensor that they belong to.

Equal to AddN of what the nodes `addends` output and of `sum`, errors included, but that -0.0 stays
-0.0 where stock adds the zero of an addend that is not there. In place where nothing else holds
`sum`, and then O(values of the slices); else in a copy.

sum: The tensor to add to.
args: The inputs of the addends, one addend's behind the other's.
output: The sum, of the shape of `sum`.
addends: Serialised NodeDefs, with op and attributes: StridedSliceGrad, Pad, UnsortedSegmentSum or
  ScatterNd. An UnsortedSegmentSum may have the attributes `_transposed` and `_reshaped`: its output
  goes through Transpose and Reshape, whose second inputs follow its own. SliceGradients stands for a
  variant that such a node output, which is added as a whole: sum + (g + h).
before: How many of the addends come before `sum` in the order of AddN.
)doc");

REGISTER_OP("TensorArrayGrad>SliceGradients")
    .Input("args: Targs")
    .Output("sum: variant")
    .Attr("Targs: list(type) >= 1")
    .Attr("addends: list(string) >= 1")
    .SetShapeFn(tensorflow::shape_inference::ScalarShape)
    .Doc(R"doc(
Gradients of slices as they are, for AddSlices to add: where a conditional chooses between them.

args: The inputs of the addends, one addend's behind the other's.
sum: What AddN of the addends would output, errors included, in a form that takes O(values of the
  slices).
addends: As those of AddSlices; also ZerosLike. A sum may be the first of them alone, for the order.
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
The last row of ZerosLike(like) and of Range(0, limit), which UnsortedSegmentSum would sum.

The sum is the same, zero, and so is whether an index is out of range. Without a row, none.

like: A tensor of at least one dimension.
limit: A scalar, the number of rows of `like`.
values: Zeros, of the shape of `like` but for one row.
indices: The number of that row, a vector of one number.
)doc");

}  // namespace tensor_array_grad
