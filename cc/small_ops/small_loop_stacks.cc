#include "cc/small_ops/small_tables.h"

#include <utility>

#include "cc/base/tensorflow_names.h"
#include "cc/lists/loop_stack.h"
#include "cc/small_ops/small_operands.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

bool Push(Operands operands, const SmallOp&, Results results) {
  const auto* const before = HeldBy<LoopStack>(operands[0]);
  const Operands values = operands.subspan(1);
  if (before == nullptr || results[0] == nullptr || before->specs().size() != values.size()) {
    return false;
  }
  LoopStackRow::Values row;
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor& value = *values[i].value->tensor();
    if (!before->specs()[i].Takes(value, before->size())) return false;
    if (i < before->kept()) row.push_back(value);
  }
  // This check comes after the row is made: a value in the row may be the stack itself, which then
  // has a second reference.
  LoopStack* const rows = ChangeableIn<LoopStack>(operands[0]);
  if (rows == nullptr) return false;
  rows->Push(std::move(row));
  results[0]->Assign(operands[0].value, /*last=*/true);
  return true;
}

bool Pop(Operands operands, const SmallOp& op, Results results) {
  LoopStack* const rows = ChangeableIn<LoopStack>(operands[0]);
  if (rows == nullptr || results[0] == nullptr || rows->size() == 0 ||
      rows->kept() != op.dtypes.size()) {
    return false;
  }
  for (size_t i = 0; i < op.dtypes.size(); ++i) {
    if (rows->specs()[i].dtype != op.dtypes[i]) return false;
  }
  LoopStackRow::Values row = rows->Pop();
  for (size_t i = 0; i < row.size(); ++i) {
    if (results[1 + i] != nullptr) results[1 + i]->Set(std::move(row[i]));
  }
  results[0]->Assign(operands[0].value, /*last=*/true);
  return true;
}

}  // namespace

void AddSmallLoopStacks(SmallOpTable* table) {
  (*table)["TensorArrayGrad>PushLoopStack"] = [](const Node&) { return Running(Push); };
  (*table)["TensorArrayGrad>PopLoopStack"] = [](const Node& node) {
    SmallOp op;
    if (GetNodeAttr(node.attrs(), "T", &op.dtypes).ok()) op.run_many = Pop;
    return op;
  };
}

}  // namespace tensor_array_grad
