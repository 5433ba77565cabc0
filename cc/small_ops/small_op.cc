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

Tensor MakeSmallTensor(Allocator* allocator, DataType dtype, const TensorShape& shape) {
  Tensor made;
  if (!MakePooledTensor(dtype, shape, &made)) made = Tensor(allocator, dtype, shape);
  return made;
}

SmallOp SmallOpFor(const Node& node, Allocator* allocator) {
  if (node.num_inputs() > kMostSmallOperands || node.num_outputs() > kMostSmallOperands) return {};
  const auto maker = Makers().find(node.type_string());
  return maker == Makers().end() ? SmallOp() : maker->second(node, allocator);
}

}  // namespace tensor_array_grad
