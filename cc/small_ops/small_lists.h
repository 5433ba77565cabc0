#ifndef CC_SMALL_OPS_SMALL_LISTS_H_
#define CC_SMALL_OPS_SMALL_LISTS_H_

#include "cc/small_ops/small_op.h"

namespace tensor_array_grad {

// Adds the small ops that read or change one element of a list, or that output its length or the
// shape of its elements:
//
//     TensorListGetItem       of an element that is set
//     TensorListSetItem       within the list, if it can be changed in place
//     ListAccumulate          the same, of a small item, if the inputs element_shape and
//                             num_elements are those of the list
//     TensorListLength, TensorListElementShape
//
// A list that a stock kernel made is left to the kernels, which convert it.
void AddSmallLists(SmallOpTable* table);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_LISTS_H_
