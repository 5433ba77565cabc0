#include "cc/small_ops/small_op.h"

#include "cc/base/pooled_tensor.h"
#include "cc/base/switches.h"
#include "cc/small_ops/small_tables.h"

namespace tensor_array_grad {
namespace {

const SmallOpTable& Makers() {
  static const auto* const makers = [] {
    auto* table = new SmallOpTable;
    for (const auto add :
         {AddSmallIndexing, AddSmallReshaping, AddSmallLoopStacks, AddSmallSelect, AddSmallMath}) {
      add(table);
    }
    if (!IsLeftOut("small_lists")) AddSmallLists(table);
    return table;
  }();
  return *makers;
}

}  // namespace

Tensor MakeSmallTensor(const SmallOp& op, DataType dtype, const TensorShape& shape) {
  Tensor made;
  if (!MakePooledTensor(dtype, shape, &made)) made = Tensor(op.allocator, dtype, shape);
  return made;
}

SmallOp SmallOpFor(const Node& node, tensorflow::Allocator* allocator) {
  if (node.num_inputs() > kMostSmallOperands || node.num_outputs() > kMostSmallOperands) return {};
  const auto maker = Makers().find(node.type_string());
  if (maker == Makers().end()) return {};
  SmallOp op = maker->second(node);
  op.allocator = allocator;
  op.output_types = node.output_types();
  return op;
}

}  // namespace tensor_array_grad
