#include "cc/loop/small_accumulators.h"

#include <string>
#include <utility>

#include "cc/lists/accumulators.h"
#include "cc/loop/small_variant.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

bool Push(Operands operands, const SmallOp&, Results results) {
  AccumulatorRow::Values row;
  for (const Operand& operand : operands.subspan(1)) row.push_back(*operand.value->tensor());
  // After the row is made: a value in it may be the stack itself, which then has a second
  // reference.
  Accumulators* const rows = ChangeableIn<Accumulators>(operands[0]);
  if (rows == nullptr || results[0] == nullptr || rows->specs().size() != row.size()) return false;
  for (size_t i = 0; i < row.size(); ++i) {
    if (!rows->specs()[i].Takes(row[i], rows->size())) return false;
  }
  rows->Push(std::move(row));
  results[0]->Assign(operands[0].value, /*last=*/true);
  return true;
}

bool Pop(Operands operands, const SmallOp& op, Results results) {
  Accumulators* const rows = ChangeableIn<Accumulators>(operands[0]);
  if (rows == nullptr || results[0] == nullptr || rows->size() == 0 ||
      rows->specs().size() != op.dtypes.size()) {
    return false;
  }
  for (size_t i = 0; i < op.dtypes.size(); ++i) {
    if (rows->specs()[i].dtype != op.dtypes[i]) return false;
  }
  AccumulatorRow::Values row = rows->Pop();
  for (size_t i = 0; i < row.size(); ++i) {
    if (results[1 + i] != nullptr) results[1 + i]->Set(std::move(row[i]));
  }
  results[0]->Assign(operands[0].value, /*last=*/true);
  return true;
}

}  // namespace

SmallOp SmallAccumulatorsFor(const tensorflow::Node& node) {
  SmallOp op;
  if (node.type_string() == "TensorArrayGrad>PushAccumulators") {
    op.run_many = Push;
  } else if (node.type_string() == "TensorArrayGrad>PopAccumulators" &&
             GetNodeAttr(node.attrs(), "T", &op.dtypes).ok()) {
    op.run_many = Pop;
  }
  return op;
}

}  // namespace tensor_array_grad
