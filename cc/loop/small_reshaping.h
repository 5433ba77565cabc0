#ifndef CC_LOOP_SMALL_RESHAPING_H_
#define CC_LOOP_SMALL_RESHAPING_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Returns the small op for a node that changes the shape of values or copies them to other places.
// For any other node, exists() of the result is false:
//
//     Reshape, Squeeze, ExpandDims  of any tensor; the result shares its buffer
//     Pack, ConcatV2, Split         of few values of a plain dtype; Split along any axis but 0
//     Tile, BroadcastTo             that repeat dimensions of size one, of few values
//
// A result shares a buffer exactly if the kernel's result would, because the order in which AddN
// adds depends on it.
SmallOp SmallReshapingFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_RESHAPING_H_
