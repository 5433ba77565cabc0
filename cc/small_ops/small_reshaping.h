#ifndef CC_SMALL_OPS_SMALL_RESHAPING_H_
#define CC_SMALL_OPS_SMALL_RESHAPING_H_

#include "cc/small_ops/small_op.h"

namespace tensor_array_grad {

// Adds the small ops that change the shape of values or copy them to other places:
//
//     Reshape, Squeeze, ExpandDims  of any tensor; the result shares its buffer
//     Pack, ConcatV2, Split         of few values of a plain dtype; Split along any axis but 0
//     Tile, BroadcastTo             that repeat dimensions of size one, of few values
//
// A result shares a buffer exactly if the kernel's result would, because the order in which AddN
// adds depends on it.
void AddSmallReshaping(SmallOpTable* table);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_RESHAPING_H_
