#ifndef CC_SMALL_OPS_SMALL_INDEXING_H_
#define CC_SMALL_OPS_SMALL_INDEXING_H_

#include "cc/small_ops/small_op.h"

namespace tensor_array_grad {

// Adds the small ops that index a tensor, or that compute or sum the gradient of an index:
//
//     StridedSlice             indices and ranges with stride one (basic_slice.h), any plain dtype
//     StridedSliceGrad         the same
//     GatherV2, ResourceGather a scalar index into dimension 0, any plain dtype
//     AddSlices                few values, if the sum can be changed in place
//
// A result shares a buffer exactly if the kernel's result would, because the order in which AddN
// adds depends on it.
void AddSmallIndexing(SmallOpTable* table);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_INDEXING_H_
