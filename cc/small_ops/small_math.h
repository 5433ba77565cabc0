#ifndef CC_SMALL_OPS_SMALL_MATH_H_
#define CC_SMALL_OPS_SMALL_MATH_H_

#include "cc/small_ops/small_op.h"

namespace tensor_array_grad {

// Adds the small ops that compute with numbers:
//
//     Add, AddV2, Sub, Mul, Neg, Square, AddN, BiasAdd, comparisons, IsFinite, logic
//     Maximum, Minimum, FloorDiv, FloorMod   of integer scalars
//     Cast                                   of scalars, if every processor rounds alike
//
// The dtypes are float, double, int32 and int64, and bool for logic. Shapes are broadcast as in
// the kernel. Only ops whose kernels are exact element by element are included. Float Maximum
// and Minimum, for example, are not: Eigen's result for NaN depends on the vector instructions that
// it was compiled for.
void AddSmallMath(SmallOpTable* table);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_MATH_H_
