#ifndef CC_LOOP_SMALL_INDEXING_H_
#define CC_LOOP_SMALL_INDEXING_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The small op for a node that an index in a loop is made of, or its gradient; without a `run` if
// there is none:
//
//     StridedSlice             indices and ranges with stride one (basic_slice.h), any plain dtype
//     StridedSliceGrad         likewise
//     GatherV2, ResourceGather a scalar index into dimension 0, likewise
//     AddSlices                of few values, where the sum can be changed in place
//
// A result shares a buffer where the kernel's would, and nowhere else: AddN adds in an order that
// depends on it.
SmallOp SmallIndexingFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_INDEXING_H_
