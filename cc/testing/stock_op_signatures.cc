// The signatures of the stock ops that the graph tests use. libtensorflow_framework, which the C++
// tests link, has only those of ops that run functions, and these since TensorFlow 2.19
// (call_ops.cc); the Python tests run the pass on the real ones.

#include "tensorflow/core/framework/op.h"

namespace tensor_array_grad {
namespace {

REGISTER_OP("NoOp");
REGISTER_OP("Placeholder").Output("output: dtype").Attr("dtype: type");
REGISTER_OP("Identity").Input("input: T").Output("output: T").Attr("T: type");
REGISTER_OP("Const").Output("output: dtype").Attr("value: tensor").Attr("dtype: type");
REGISTER_OP("Less").Input("x: T").Input("y: T").Output("z: bool").Attr("T: type");
REGISTER_OP("LoopCond").Input("input: bool").Output("output: bool");
REGISTER_OP("NextIteration").Input("data: T").Output("output: T").Attr("T: type");
REGISTER_OP("Exit").Input("data: T").Output("output: T").Attr("T: type");
REGISTER_OP("Enter")
    .Input("data: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("frame_name: string")
    .Attr("is_constant: bool = false")
    .Attr("parallel_iterations: int = 10");
REGISTER_OP("Merge")
    .Input("inputs: N * T")
    .Output("output: T")
    .Output("value_index: int32")
    .Attr("T: type")
    .Attr("N: int >= 1");
REGISTER_OP("Switch")
    .Input("data: T")
    .Input("pred: bool")
    .Output("output_false: T")
    .Output("output_true: T")
    .Attr("T: type");
REGISTER_OP("_SwitchN")
    .Input("data: T")
    .Input("output_index: int32")
    .Output("outputs: num_outs * T")
    .Attr("num_outs: int >= 1")
    .Attr("T: type");
REGISTER_OP("ControlTrigger");
REGISTER_OP("MutexLock").Input("mutex: resource").Output("mutex_lock: variant").SetIsStateful();
REGISTER_OP("ConsumeMutexLock").Input("mutex_lock: variant").SetIsStateful();
REGISTER_OP("AddN").Input("inputs: N * T").Output("sum: T").Attr("N: int >= 1").Attr("T: type");
REGISTER_OP("Pad")
    .Input("input: T")
    .Input("paddings: Tpaddings")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tpaddings: type");
REGISTER_OP("ScatterNd")
    .Input("indices: Tindices")
    .Input("updates: T")
    .Input("shape: Tindices")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tindices: type")
    .Attr("bad_indices_policy: string = ''");
REGISTER_OP("UnsortedSegmentSum")
    .Input("data: T")
    .Input("segment_ids: Tindices")
    .Input("num_segments: Tnumsegments")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tindices: type")
    .Attr("Tnumsegments: type");
REGISTER_OP("Transpose")
    .Input("x: T")
    .Input("perm: Tperm")
    .Output("y: T")
    .Attr("T: type")
    .Attr("Tperm: type");
REGISTER_OP("Reshape")
    .Input("x: T")
    .Input("shape: Tshape")
    .Output("y: T")
    .Attr("T: type")
    .Attr("Tshape: type");
REGISTER_OP("Shape")
    .Input("input: T")
    .Output("output: out_type")
    .Attr("T: type")
    .Attr("out_type: type");
REGISTER_OP("StridedSlice")
    .Input("input: T")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Index: type");
REGISTER_OP("StridedSliceGrad")
    .Input("shape: Index")
    .Input("begin: Index")
    .Input("end: Index")
    .Input("strides: Index")
    .Input("dy: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Index: type");
REGISTER_OP("BiasAdd").Input("value: T").Input("bias: T").Output("output: T").Attr("T: type");
REGISTER_OP("IsFinite").Input("x: T").Output("y: bool").Attr("T: type");
REGISTER_OP("Squeeze")
    .Input("input: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("squeeze_dims: list(int) = []");
REGISTER_OP("ConcatV2")
    .Input("values: N * T")
    .Input("axis: Tidx")
    .Output("output: T")
    .Attr("N: int >= 2")
    .Attr("T: type")
    .Attr("Tidx: type = DT_INT32");
REGISTER_OP("Split")
    .Input("split_dim: int32")
    .Input("value: T")
    .Output("output: num_split * T")
    .Attr("num_split: int >= 1")
    .Attr("T: type");
REGISTER_OP("BroadcastTo")
    .Input("input: T")
    .Input("shape: Tidx")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tidx: type = DT_INT32");
REGISTER_OP("Tile")
    .Input("input: T")
    .Input("multiples: Tmultiples")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tmultiples: type = DT_INT32");
REGISTER_OP("Range")
    .Input("start: Tidx")
    .Input("limit: Tidx")
    .Input("delta: Tidx")
    .Output("output: Tidx")
    .Attr("Tidx: type");
REGISTER_OP("Add").Input("x: T").Input("y: T").Output("z: T").Attr("T: type");
REGISTER_OP("AddV2").Input("x: T").Input("y: T").Output("z: T").Attr("T: type");
REGISTER_OP("Neg").Input("x: T").Output("y: T").Attr("T: type");
REGISTER_OP("FloorDiv").Input("x: T").Input("y: T").Output("z: T").Attr("T: type");
REGISTER_OP("Sub").Input("x: T").Input("y: T").Output("z: T").Attr("T: type");
REGISTER_OP("Mul").Input("x: T").Input("y: T").Output("z: T").Attr("T: type");
REGISTER_OP("FloorMod").Input("x: T").Input("y: T").Output("z: T").Attr("T: type");
REGISTER_OP("Equal").Input("x: T").Input("y: T").Output("z: bool").Attr("T: type");
REGISTER_OP("LessEqual").Input("x: T").Input("y: T").Output("z: bool").Attr("T: type");
REGISTER_OP("Greater").Input("x: T").Input("y: T").Output("z: bool").Attr("T: type");
REGISTER_OP("GreaterEqual").Input("x: T").Input("y: T").Output("z: bool").Attr("T: type");
REGISTER_OP("NotEqual").Input("x: T").Input("y: T").Output("z: bool").Attr("T: type");
REGISTER_OP("Maximum").Input("x: T").Input("y: T").Output("z: T").Attr("T: type");
REGISTER_OP("Minimum").Input("x: T").Input("y: T").Output("z: T").Attr("T: type");
REGISTER_OP("Square").Input("x: T").Output("y: T").Attr("T: type");
REGISTER_OP("Cast").Input("x: SrcT").Output("y: DstT").Attr("SrcT: type").Attr("DstT: type");
REGISTER_OP("LogicalNot").Input("x: bool").Output("y: bool");
REGISTER_OP("LogicalAnd").Input("x: bool").Input("y: bool").Output("z: bool");
REGISTER_OP("LogicalOr").Input("x: bool").Input("y: bool").Output("z: bool");
REGISTER_OP("Select")
    .Input("condition: bool")
    .Input("t: T")
    .Input("e: T")
    .Output("output: T")
    .Attr("T: type");
REGISTER_OP("SelectV2")
    .Input("condition: bool")
    .Input("t: T")
    .Input("e: T")
    .Output("output: T")
    .Attr("T: type");
REGISTER_OP("AssignAddVariableOp")
    .Input("resource: resource")
    .Input("value: dtype")
    .Attr("dtype: type")
    .SetIsStateful();
REGISTER_OP("ReadVariableOp")
    .Input("resource: resource")
    .Output("value: dtype")
    .Attr("dtype: type")
    .SetIsStateful();
REGISTER_OP("StackPushV2")
    .Input("handle: resource")
    .Input("elem: T")
    .Output("output: T")
    .Attr("T: type")
    .SetIsStateful();
REGISTER_OP("StackPopV2")
    .Input("handle: resource")
    .Output("elem: elem_type")
    .Attr("elem_type: type")
    .SetIsStateful();
REGISTER_OP("RefIdentity").Input("input: Ref(T)").Output("output: Ref(T)").Attr("T: type");
REGISTER_OP("VariableV2").Output("ref: Ref(dtype)").Attr("dtype: type").SetIsStateful();
REGISTER_OP("InplaceUpdate")
    .Input("x: T")
    .Input("i: int32")
    .Input("v: T")
    .Output("y: T")
    .Attr("T: type");
REGISTER_OP("_Send").Input("tensor: T").Attr("T: type").SetIsStateful();
REGISTER_OP("_Recv").Output("tensor: tensor_type").Attr("tensor_type: type").SetIsStateful();
REGISTER_OP("QueueDequeueV2")
    .Input("handle: resource")
    .Output("components: component_types")
    .Attr("component_types: list(type)")
    .SetIsStateful();
REGISTER_OP("QueueEnqueueV2")
    .Input("handle: resource")
    .Input("components: Tcomponents")
    .Attr("Tcomponents: list(type)")
    .SetIsStateful();
REGISTER_OP("PyFunc")
    .Input("input: Tin")
    .Output("output: Tout")
    .Attr("Tin: list(type)")
    .Attr("Tout: list(type)")
    .SetIsStateful();
REGISTER_OP("MapDefun")
    .Output("output: output_types")
    .Attr("output_types: list(type)")
    .Attr("f: func");
REGISTER_OP("GetSessionHandle")
    .Input("value: T")
    .Output("handle: string")
    .Attr("T: type")
    .SetIsStateful();
REGISTER_OP("RandomUniformInt")
    .Input("shape: T")
    .Input("minval: Tout")
    .Input("maxval: Tout")
    .Output("output: Tout")
    .Attr("seed: int = 0")
    .Attr("seed2: int = 0")
    .Attr("T: type")
    .Attr("Tout: type")
    .SetIsStateful();
REGISTER_OP("ZerosLike").Input("x: T").Output("y: T").Attr("T: type");
REGISTER_OP("Fill")
    .Input("dims: index_type")
    .Input("value: T")
    .Output("output: T")
    .Attr("T: type")
    .Attr("index_type: type");
REGISTER_OP("TensorListFromTensor")
    .Input("tensor: element_dtype")
    .Input("element_shape: shape_type")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}");
REGISTER_OP("TensorListReserve")
    .Input("element_shape: shape_type")
    .Input("num_elements: int32")
    .Output("handle: variant")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}");
REGISTER_OP("TensorListGetItem")
    .Input("input_handle: variant")
    .Input("index: int32")
    .Input("element_shape: int32")
    .Output("item: element_dtype")
    .Attr("element_dtype: type");
REGISTER_OP("TensorListSetItem")
    .Input("input_handle: variant")
    .Input("index: int32")
    .Input("item: element_dtype")
    .Output("output_handle: variant")
    .Attr("element_dtype: type")
    .Attr("resize_if_index_out_of_bounds: bool = false");
REGISTER_OP("EmptyTensorList")
    .Input("element_shape: shape_type")
    .Input("max_num_elements: int32")
    .Output("handle: variant")
    .Attr("element_dtype: type")
    .Attr("shape_type: {int32, int64}");
REGISTER_OP("TensorListPushBack")
    .Input("input_handle: variant")
    .Input("tensor: element_dtype")
    .Output("output_handle: variant")
    .Attr("element_dtype: type");
REGISTER_OP("TensorListPopBack")
    .Input("input_handle: variant")
    .Input("element_shape: int32")
    .Output("output_handle: variant")
    .Output("tensor: element_dtype")
    .Attr("element_dtype: type");
REGISTER_OP("TensorListElementShape")
    .Input("input_handle: variant")
    .Output("element_shape: shape_type")
    .Attr("shape_type: {int32, int64}");
REGISTER_OP("TensorListLength").Input("input_handle: variant").Output("length: int32");
REGISTER_OP("Pack")
    .Input("values: N * T")
    .Output("output: T")
    .Attr("N: int >= 1")
    .Attr("T: type")
    .Attr("axis: int = 0");
REGISTER_OP("ExpandDims")
    .Input("input: T")
    .Input("dim: Tdim")
    .Output("output: T")
    .Attr("T: type")
    .Attr("Tdim: {int32, int64} = DT_INT32");
REGISTER_OP("GatherV2")
    .Input("params: Tparams")
    .Input("indices: Tindices")
    .Input("axis: Taxis")
    .Output("output: Tparams")
    .Attr("batch_dims: int = 0")
    .Attr("Tparams: type")
    .Attr("Tindices: {int32, int64}")
    .Attr("Taxis: {int32, int64}");
REGISTER_OP("ResourceGather")
    .Input("resource: resource")
    .Input("indices: Tindices")
    .Output("output: dtype")
    .Attr("batch_dims: int = 0")
    .Attr("dtype: type")
    .Attr("Tindices: {int32, int64}");

}  // namespace
}  // namespace tensor_array_grad
