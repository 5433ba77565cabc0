// A sum with gradients of slices, which are added to the parts that they belong to.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace tensor_array_grad {

REGISTER_OP("TensorArrayGrad>AddSlices")
    .Input("sum: T")
    .Input("args: Targs")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
    .Attr("Targs: list(type) >= 2")
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
  goes through Transpose and Reshape, whose second inputs follow its own.
before: How many of the addends come before `sum` in the order of AddN.
)doc");

}  // namespace tensor_array_grad
