#ifndef CC_SMALL_OPS_SMALL_TABLES_H_
#define CC_SMALL_OPS_SMALL_TABLES_H_

#include <string>
#include <type_traits>
#include <unordered_map>

#include "cc/base/op_names.h"
#include "cc/flow/graph_names.h"
#include "cc/small_ops/small_op.h"

// The small ops, by the file that has them. Each function adds the makers of its file to `table`. A
// result of any of them shares a buffer exactly if the kernel's result would (flow/sum_order.h).
namespace tensor_array_grad {

// Makes the small op of a node, or an empty one for a form of the op that it does not support.
// `allocator` is that of SmallOpFor.
using SmallOpMaker = SmallOp (*)(const Node& node, Allocator* allocator);
// The makers, by the type of the node.
using SmallOpTable = std::unordered_map<std::string, SmallOpMaker>;

// Returns the small op compute(operands, bound..., result) of an op with one result, a Value*. It
// is left to the kernel if no instruction reads the result.
template <auto compute, typename... Bound>
SmallOp OneResult(Bound... bound) {
  return [bound...](Operands operands, Results results) {
    return results[0] != nullptr && compute(operands, bound..., results[0]);
  };
}

// The maker for an op with one result for which `compute` needs the operands and, if it makes
// tensors, the allocator, but no attributes.
template <auto compute>
SmallOp Making(const Node&, Allocator* allocator) {
  if constexpr (std::is_invocable_v<decltype(compute), Operands, Value*>) {
    return OneResult<compute>();
  } else {
    return OneResult<compute>(allocator);
  }
}

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

// Adds Select and SelectV2 of bool, float, double, int32 and int64. A scalar condition chooses a
// whole value; a tensor of conditions chooses each element.
void AddSmallSelect(SmallOpTable* table);

// Adds the small ops that index a tensor, or that compute or sum the gradient of an index:
//
//     StridedSlice             indices and ranges with stride one (basic_slice.h), any plain dtype
//     StridedSliceGrad         the same
//     GatherV2, ResourceGather a scalar index into dimension 0, any plain dtype
//     AddSlices                few values, if the sum can be changed in place
void AddSmallIndexing(SmallOpTable* table);

// Adds the small ops that change the shape of values or copy them to other places:
//
//     Reshape, Squeeze, ExpandDims  of any tensor; the result shares its buffer
//     Pack, ConcatV2, Split         of few values of a plain dtype; Split along any axis but 0
//     Tile, BroadcastTo             that repeat dimensions of size one, of few values
void AddSmallReshaping(SmallOpTable* table);

// Adds the small ops that read or change one element of a list, or that output its length or the
// shape of its elements:
//
//     TensorListGetItem       of an element that is set
//     TensorListSetItem       if the list can be changed in place; makes it grow if the op may
//     ListAccumulate(Like)    the same, of a small item
//     TensorListElementShape
//     TensorListLength
//     ZerosLike               of a list of numbers, if all elements have one shape
//
// A list that a stock kernel made is left to the kernels, which convert it. The bodies of the first
// four, and of the next table's, are those of their kernels (lists/list_bodies.h).
void AddSmallLists(SmallOpTable* table);

// Makes the small op of an AddN of two lists, the second of which has no elements, such as zeros.
SmallOp SumOfLists(const Node& node, Allocator* allocator);

// Adds PushLoopStack and PopLoopStack, which push a row of values onto the loop stack that a
// forward loop keeps for its backward loop, and pop one (lists/loop_stack.h).
//
// The small op changes the stack in place, so it returns false if another tensor shares the stack.
void AddSmallLoopStacks(SmallOpTable* table);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_TABLES_H_
