#ifndef CC_LOOP_SMALL_INDEXING_H_
#define CC_LOOP_SMALL_INDEXING_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Returns the small op for a node that indexes a tensor, or that computes or sums the gradient of
// an index. For any other node, exists() of the result is false:
//
//     StridedSlice             indices and ranges with stride one (basic_slice.h), any plain dtype
//     StridedSliceGrad         the same
//     GatherV2, ResourceGather a scalar index into dimension 0, any plain dtype
//     AddSlices                few values, if the sum can be changed in place
//
// A result shares a buffer exactly if the kernel's result would, because the order in which AddN
// adds depends on it.
SmallOp SmallIndexingFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_INDEXING_H_
