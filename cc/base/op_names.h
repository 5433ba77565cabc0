#ifndef CC_BASE_OP_NAMES_H_
#define CC_BASE_OP_NAMES_H_

// The names of ops that two or more files need: ops::kAddV2 is "AddV2", ops::kRunLoop is
// "TensorArrayGrad>RunLoop". op_names_test.cc looks each of them up in TensorFlow's registry.
//
// A name that only one file needs is written there. cc/ops, which defines the ops, cc/api, which
// knows only the public headers, and tests write out all names.

// TensorFlow's ops.
// clang-format off
#define TAG_STOCK_OPS(OP) \
  OP(Add) OP(AddN) OP(AddV2) OP(Cast) OP(ConsumeMutexLock) OP(EmptyTensorList) \
  OP(Enter) OP(Equal) OP(ExpandDims) OP(Fill) OP(FloorDiv) OP(FloorMod) OP(Greater) \
  OP(GreaterEqual) OP(Identity) OP(Less) OP(LessEqual) OP(LogicalAnd) OP(LogicalNot) \
  OP(LogicalOr) OP(Maximum) OP(Merge) OP(Minimum) OP(Mul) OP(Neg) OP(NoOp) OP(NotEqual) OP(Pack) \
  OP(Pad) OP(PartitionedCall) OP(Reshape) OP(ResourceGather) OP(SelectV2) OP(Shape) \
  OP(StackCloseV2) OP(StackPopV2) OP(StackPushV2) OP(StackV2) OP(StridedSlice) \
  OP(StridedSliceGrad) OP(Sub) OP(TensorArrayCloseV3) OP(TensorArrayConcatV3) \
  OP(TensorArrayGatherV3) OP(TensorArrayGradV3) OP(TensorArrayGradWithShape) \
  OP(TensorArrayReadV3) OP(TensorArrayScatterV3) OP(TensorArraySizeV3) OP(TensorArraySplitV3) \
  OP(TensorArrayV3) OP(TensorArrayWriteV3) OP(TensorListConcat) OP(TensorListConcatLists) \
  OP(TensorListConcatV2) OP(TensorListElementShape) OP(TensorListFromTensor) OP(TensorListGather) \
  OP(TensorListGetItem) OP(TensorListLength) OP(TensorListPopBack) OP(TensorListPushBack) \
  OP(TensorListPushBackBatch) OP(TensorListReserve) OP(TensorListResize) OP(TensorListScatter) \
  OP(TensorListScatterIntoExistingList) OP(TensorListScatterV2) OP(TensorListSetItem) \
  OP(TensorListSplit) OP(TensorListStack) OP(Tile) OP(Transpose) OP(UnsortedSegmentSum) \
  OP(ZerosLike)

// This library's ops.
#define TAG_OWN_OPS(OP) \
  OP(AddSlices) OP(LastRowOfZeros) OP(ListAccumulate) OP(ListAccumulateLike) OP(NewLoopStack) \
  OP(NoteCondition) OP(NoteExit) OP(PopLoopStack) OP(PushLoopStack) OP(RunLoop) \
  OP(RunLoopInSession) OP(SliceGradients)
// clang-format on

namespace tensor_array_grad::ops {

#define TAG_NAME(op) inline constexpr char k##op[] = #op;
TAG_STOCK_OPS(TAG_NAME)
#undef TAG_NAME

#define TAG_NAME(op) inline constexpr char k##op[] = "TensorArrayGrad>" #op;
TAG_OWN_OPS(TAG_NAME)
#undef TAG_NAME

}  // namespace tensor_array_grad::ops

#endif  // CC_BASE_OP_NAMES_H_
