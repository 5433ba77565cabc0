#ifndef CC_LOOP_SMALL_LISTS_H_
#define CC_LOOP_SMALL_LISTS_H_

#include "cc/loop/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Returns the small op for a node that reads or changes one element of a list, or that outputs its
// length or the shape of its elements. For any other node, exists() of the result is false:
//
//     TensorListGetItem       of an element that is set
//     TensorListSetItem       within the list, if it can be changed in place
//     ListAccumulate          the same, of a small item, if the inputs element_shape and
//                             num_elements are those of the list
//     TensorListLength, TensorListElementShape
//
// A list that a stock kernel made is left to the kernels, which convert it.
SmallOp SmallListsFor(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_SMALL_LISTS_H_
