#ifndef CC_LOOP_SMALL_RESHAPING_H_
#define CC_LOOP_SMALL_RESHAPING_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The small op for a node that gives values another shape, or copies them to another place; one
// that does not exist for any other node:
//
//     Reshape, Squeeze, ExpandDims  of any tensor; the result shares its buffer
//     Pack, ConcatV2, Split         along any axis, of few values of a plain dtype
//     Tile, BroadcastTo             that repeat dimensions of size one, likewise
//
// A result shares a buffer where the kernel's would, and nowhere else: AddN adds in an order that
// depends on it.
SmallOp SmallReshapingFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_RESHAPING_H_
