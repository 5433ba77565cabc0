#ifndef CC_SMALL_OPS_SMALL_CHOICE_H_
#define CC_SMALL_OPS_SMALL_CHOICE_H_

#include "cc/small_ops/small_op.h"

namespace tensor_array_grad {

// Adds Select and SelectV2 of bool, float, double, int32 and int64. A scalar condition chooses a
// whole value; a tensor of conditions chooses each element. In the first case, the result shares a
// buffer exactly if the kernel's result would.
void AddSmallChoice(SmallOpTable* table);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_CHOICE_H_
