// Sums with a tensor that is zero but for a part of it, which is not made.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace tensor_array_grad {
namespace {

using tensorflow::shape_inference::UnchangedShape;

REGISTER_OP("TensorArrayGrad>AddStridedSliceGrad")
    .Input("sum: T")
    .Input("shape: Index")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("dy: T")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
    .Attr("Index: {int32, int64}")
    .Attr("begin_mask: int = 0")
    .Attr("end_mask: int = 0")
    .Attr("ellipsis_mask: int = 0")
    .Attr("new_axis_mask: int = 0")
    .Attr("shrink_axis_mask: int = 0")
    .SetShapeFn(UnchangedShape)
    .Doc(R"doc(
Adds `dy` to the values of `sum` that the slice names, in place where nothing else holds `sum`.

Equal to `AddN([sum, StridedSliceGrad(shape, begin, end, strides, dy)])`, errors included, but that
`-0.0` stays `-0.0` where the slice is not. O(size of dy) in place.

sum: The tensor to add to, of the shape `shape`.
shape: Vector, as of StridedSliceGrad; so are `begin`, `end`, `strides` and the masks.
dy: The addend, of the shape of the slice.
output: The sum.
)doc");

REGISTER_OP("TensorArrayGrad>AddPad")
    .Input("sum: T")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
    .Attr("Tpaddings: {int32, int64}")
    .SetShapeFn(UnchangedShape)
    .Doc(R"doc(
Adds `input` to a box of `sum`, in place where nothing else holds `sum`.

Equal to `AddN([sum, Pad(input, paddings)])`, errors included, but that `-0.0` stays `-0.0` in the
padding. O(size of input) in place.

sum: The tensor to add to, of the shape of the padded input.
input: The addend.
paddings: Matrix [rank, 2], how many values of `sum` are before and after the box.
output: The sum.
)doc");

REGISTER_OP("TensorArrayGrad>AddUnsortedSegmentSum")
    .Input("sum: T")
    .Input("data: T")
    .Input("segment_ids: Tindices")
    .Input("num_segments: Tnumsegments")
    .Input("perm: num_perms * int32")
    .Input("shape: num_shapes * Tshape")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
    .Attr("Tindices: {int32, int64}")
    .Attr("Tnumsegments: {int32, int64} = DT_INT32")
    .Attr("num_perms: int >= 0 = 0")
    .Attr("num_shapes: int >= 0 = 0")
    .Attr("Tshape: {int32, int64} = DT_INT32")
    .SetShapeFn(UnchangedShape)
    .Doc(R"doc(
Adds rows to the rows of `sum` that `segment_ids` names, in place where nothing else holds `sum`.

Equal to `AddN([sum, Reshape(Transpose(UnsortedSegmentSum(data, segment_ids, num_segments), perm),
shape)])`, errors included, without Transpose and Reshape where `perm` and `shape` are empty, but
that `-0.0` stays `-0.0` in rows that are not named. O(size of data) in place.

sum: The tensor to add to.
data: The rows.
segment_ids: The segment of each row; rows of a negative one are left out.
num_segments: Scalar, how many segments there are.
perm: At most one vector, as of Transpose.
shape: At most one vector, as of Reshape.
output: The sum.
)doc");

REGISTER_OP("TensorArrayGrad>AddScatterNd")
    .Input("sum: T")
    .Input("indices: Tindices")
    .Input("updates: T")
    .Input("shape: Tindices")
    .Output("output: T")
    .Attr("T: {half, bfloat16, float, double, complex64, complex128}")
    .Attr("Tindices: {int32, int64}")
    .SetShapeFn(UnchangedShape)
    .Doc(R"doc(
Adds slices to the slices of `sum` that `indices` names, in place where nothing else holds `sum`.

Equal to `AddN([sum, ScatterNd(indices, updates, shape)])`, errors included, but that `-0.0` stays
`-0.0` in slices that are not named. O(size of updates) in place.

sum: The tensor to add to, of the shape `shape`.
indices: [.., k], where the slices are in the first k dimensions.
updates: The slices.
shape: Vector.
output: The sum.
)doc");

}  // namespace
}  // namespace tensor_array_grad
