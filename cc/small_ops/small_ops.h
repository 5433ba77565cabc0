#ifndef CC_SMALL_OPS_SMALL_OPS_H_
#define CC_SMALL_OPS_SMALL_OPS_H_

#include "cc/small_ops/small_op.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Returns the small op for `node`, from the tables of small_tables.h, which have each op once. If
// none of them has it, exists() of the result is false. `allocator` makes the tensors that are too
// large for the block pool; it must outlive the result.
SmallOp SmallOpFor(const tensorflow::Node& node, tensorflow::Allocator* allocator);

}  // namespace tensor_array_grad

#endif  // CC_SMALL_OPS_SMALL_OPS_H_
