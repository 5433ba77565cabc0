#include "cc/small_ops/small_tables.h"

#include <cstring>
#include <utility>

#include "cc/base/tensorflow_names.h"
#include "cc/small_ops/broadcast.h"
#include "cc/small_ops/small_operands.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataTypeToEnum;

// The operand that a scalar condition chooses. Null if the condition is not a scalar, or the
// operands differ in shape or are not small.
const Operand* Chosen(Operands operands) {
  bool first;
  if (!operands[0].value->Get(&first)) return nullptr;
  const Operand& chosen = operands[first ? 1 : 2];
  const Operand& other = operands[first ? 2 : 1];
  if (chosen.value->is_scalar() && other.value->is_scalar()) return &chosen;
  if (chosen.value->is_scalar() || other.value->is_scalar()) return nullptr;
  const Tensor& tensor = *chosen.value->tensor();
  const bool one_shape = tensor.IsSameSize(*other.value->tensor());
  return one_shape && IsSmall(tensor, tensor.dtype()) ? &chosen : nullptr;
}

// SelectV2 by a scalar: the chosen tensor if no other tensor shares its buffer, else a copy, as in
// the kernel. Sharing the buffer would save the copy but change sums (sum_order.h).
bool ChooseCopy(Operands operands, Allocator* allocator, Value* result) {
  const Operand* const chosen = Chosen(operands);
  if (chosen == nullptr) return false;
  if (chosen->value->is_number()) {
    result->CopyNumber(*chosen->value);
    return true;
  }
  const Tensor& tensor = *chosen->value->tensor();
  Tensor target = Target({*chosen}, tensor.dtype(), tensor.shape(), allocator);
  if (!target.IsInitialized()) return false;
  if (target.data() != tensor.data()) {
    std::memcpy(target.data(), tensor.data(), tensor.TotalBytes());
  }
  result->Set(std::move(target));
  return true;
}

// Select by a scalar: the chosen tensor with its buffer, as in the kernel.
bool ChooseShared(Operands operands, Value* result) {
  const Operand* const chosen = Chosen(operands);
  if (chosen == nullptr) return false;
  if (result != chosen->value) result->Assign(chosen->value, false);
  return true;
}

// Chooses each element by a tensor of conditions, with broadcasting.
template <typename T>
bool ChooseEach(Operands operands, Allocator* allocator, Value* result) {
  constexpr DataType kDtype = DataTypeToEnum<T>::value;
  const Tensor& condition = *operands[0].value->tensor();
  const Tensor& yes = *operands[1].value->tensor();
  const Tensor& no = *operands[2].value->tensor();
  if (!IsSmall(condition, DT_BOOL) || !IsSmall(yes, kDtype) || !IsSmall(no, kDtype)) {
    return false;
  }
  Broadcast all;
  if (!all.Read({&condition.shape(), &yes.shape(), &no.shape()}) || all.shape().dims() == 0 ||
      all.elements() > kMostSmallElements) {
    return false;
  }
  Tensor target = MakeSmallTensor(allocator, kDtype, all.shape());
  if (!target.IsInitialized()) return false;
  T* z = DataOf<T>(&target);
  const int64_t steps[] = {!all.repeats(0), !all.repeats(1), !all.repeats(2)};
  all.ForEachLine([&](const int64_t* at) {
    const bool* c = DataOf<bool>(condition) + at[0];
    const T *x = DataOf<T>(yes) + at[1], *y = DataOf<T>(no) + at[2];
    for (int64_t i = 0; i < all.line(); ++i) {
      *z++ = *c ? *x : *y;
      c += steps[0];
      x += steps[1];
      y += steps[2];
    }
  });
  result->Set(std::move(target));
  return true;
}

// Select does not broadcast. By a vector of conditions it chooses whole rows, which is left to the
// kernel.
template <typename T>
bool Select(Operands operands, Allocator* allocator, Value* result) {
  if (ChooseShared(operands, result)) return true;
  const Tensor& condition = *operands[0].value->tensor();
  return condition.IsSameSize(*operands[1].value->tensor()) &&
         condition.IsSameSize(*operands[2].value->tensor()) &&
         ChooseEach<T>(operands, allocator, result);
}

template <typename T>
bool SelectV2(Operands operands, Allocator* allocator, Value* result) {
  return ChooseCopy(operands, allocator, result) || ChooseEach<T>(operands, allocator, result);
}

// Select or, if `v2`, SelectV2 of the dtype of `node`.
template <bool v2>
SmallOp Choosing(const Node& node, Allocator* allocator) {
  switch (node.output_type(0)) {
    case DT_BOOL:
      return OneResult<v2 ? SelectV2<bool> : Select<bool>>(allocator);
    case DT_FLOAT:
      return OneResult<v2 ? SelectV2<float> : Select<float>>(allocator);
    case DT_DOUBLE:
      return OneResult<v2 ? SelectV2<double> : Select<double>>(allocator);
    case DT_INT32:
      return OneResult<v2 ? SelectV2<int32_t> : Select<int32_t>>(allocator);
    case DT_INT64:
      return OneResult<v2 ? SelectV2<int64_t> : Select<int64_t>>(allocator);
    default:
      return {};
  }
}

}  // namespace

void AddSmallSelect(SmallOpTable* table) {
  (*table)["Select"] = Choosing<false>;
  (*table)[ops::kSelectV2] = Choosing<true>;
}

}  // namespace tensor_array_grad
