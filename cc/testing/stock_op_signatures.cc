// The signatures of the stock ops that the graph tests use. libtensorflow_framework, which our C++
// tests link, has no op definitions; the Python tests run the pass on the real ones.

#include "tensorflow/core/framework/op.h"

namespace tensor_array_grad {
namespace {

REGISTER_OP("NoOp");
REGISTER_OP("Placeholder").Output("output: dtype").Attr("dtype: type");
REGISTER_OP("Identity").Input("input: T").Output("output: T").Attr("T: type");
REGISTER_OP("AddN").Input("inputs: N * T").Output("sum: T").Attr("N: int >= 1").Attr("T: type");
REGISTER_OP("TensorListReserve")
    .Input("element_shape: shape_type")
    .Input("num_elements: int32")
    .Output("handle: variant")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}");
REGISTER_OP("TensorListSetItem")
    .Input("input_handle: variant")
    .Input("index: int32")
    .Input("item: element_dtype")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr("resize_if_index_out_of_bounds: bool = false");

}  // namespace
}  // namespace tensor_array_grad
