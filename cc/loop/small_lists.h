#ifndef CC_LOOP_SMALL_LISTS_H_
#define CC_LOOP_SMALL_LISTS_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The small op for a node that reads or changes one element of a list, or asks for its length or
// the shape of its elements; one that does not exist for any other node:
//
//     TensorListGetItem       of an element that is set
//     TensorListSetItem       within the list, if it can be changed in place
//     ListAccumulate          likewise, if the sum's spec is the list's and its element small
//     TensorListLength, TensorListElementShape
//
// Stock's lists, in a graph that got one from elsewhere, are the kernels' to convert.
SmallOp SmallListsFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_LISTS_H_
