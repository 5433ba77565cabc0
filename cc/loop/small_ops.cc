#include "cc/loop/small_ops.h"

#include "cc/core/pooled_tensor.h"
#include "cc/core/tensorflow_names.h"
#include "cc/loop/small_choice.h"
#include "cc/loop/small_indexing.h"
#include "cc/loop/small_lists.h"
#include "cc/loop/small_loop_stacks.h"
#include "cc/loop/small_math.h"
#include "cc/loop/small_reshaping.h"

namespace tensor_array_grad {

Tensor MakeSmallTensor(const SmallOp& op, DataType dtype, const tensorflow::TensorShape& shape) {
  Tensor made;
  if (!MakePooledTensor(dtype, shape, &made)) made = Tensor(op.allocator, dtype, shape);
  return made;
}

SmallOp SmallOpFor(const tensorflow::Node& node, tensorflow::Allocator* allocator) {
  if (node.num_inputs() > kMostSmallOperands || node.num_outputs() > kMostSmallOperands) return {};
  SmallOp op = SmallIndexingFor(node);
  if (!op.exists()) op = SmallReshapingFor(node);
  if (!op.exists()) op = SmallListsFor(node);
  if (!op.exists()) op = SmallLoopStacksFor(node);
  if (!op.exists()) op.run = SmallChoiceFor(node);
  if (!op.exists()) op.run = SmallMathFor(node);
  op.allocator = allocator;
  return op;
}

}  // namespace tensor_array_grad
