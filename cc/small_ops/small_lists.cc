#include "cc/small_ops/small_tables.h"

#include <utility>

#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/functors.h"
#include "cc/lists/list_variant.h"
#include "cc/slices/slice_inputs.h"
#include "cc/small_ops/small_operands.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

// Reads the index of an element of `list`. Returns false if it is out of range.
bool GetIndex(const Operand& operand, const ListVariant& list, int64_t* index) {
  int32_t number;
  if (!operand.value->Get(&number) || number < 0 || number >= list.size()) return false;
  *index = number;
  return true;
}

bool GetItem(Operands operands, const SmallOp& op, Value* result) {
  const ListVariant* const list = HeldBy<ListVariant>(operands[0]);
  int64_t index;
  if (list == nullptr || list->dtype() != op.dtype || !GetIndex(operands[1], *list, &index)) {
    return false;
  }
  const ListElement element = list->Get(index);
  if (element.kind != ListElement::kSet) return false;
  result->Set(*element.tensor);
  return true;
}

bool SetItem(Operands operands, const SmallOp& op, Value* result) {
  Tensor item = *operands[2].value->tensor();  // copied first: the item may be the list itself
  ListVariant* const list = ChangeableIn<ListVariant>(operands[0]);
  int64_t index;
  if (list == nullptr || list->dtype() != op.dtype || !GetIndex(operands[1], *list, &index) ||
      !list->shape().IsCompatibleWith(item.shape())) {
    return false;
  }
  list->Set(index, std::move(item));
  result->Assign(operands[0].value, /*last=*/true);
  return true;
}

// Sets *b to a + *b, in a new buffer. Returns false and leaves `b` unchanged if the kernel has to
// do it: for tensors that are not small, that differ in dtype or shape, or whose dtype has no sum.
bool AddTo(const Tensor& a, const SmallOp& op, Tensor* b) {
  if (!CanAdd(a.dtype()) || !IsSmall(*b, a.dtype()) || !a.IsSameSize(*b)) return false;
  Tensor sum = MakeSmallTensor(op, a.dtype(), a.shape());
  if (!sum.IsInitialized()) return false;
  cpu::Add(a, *b, cpu::OnThisThread, &sum);
  *b = std::move(sum);
  return true;
}

// Adds an item to element `at` of `sum`, the list in `list`. Returns false if the kernel has to do
// it, or has to report an error. Requires: a list of the shape and length of `sum` is added.
bool AddItem(const Operand& list, const Operand& at, const Operand& added, const SmallOp& op,
             ListVariant* sum, Value* result) {
  if (added.value == list.value) return false;  // a list is not put into itself
  Tensor item = *added.value->tensor();
  int64_t index;
  if (sum->dtype() != op.dtype || sum->max_num_elements() != -1 || !GetIndex(at, *sum, &index) ||
      !sum->shape().IsCompatibleWith(item.shape())) {
    return false;
  }
  const ListElement before = sum->Get(index);
  if (before.kind == ListElement::kSet && !AddTo(*before.tensor, op, &item)) return false;
  sum->Set(index, std::move(item));
  result->Assign(list.value, /*last=*/true);
  return true;
}

// Runs only if element_shape and num_elements are those of the list, so that all checks of
// ListAccumulate's kernel pass.
bool Accumulate(Operands operands, const SmallOp& op, Value* result) {
  enum { kList, kIndex, kItem, kElementShape, kNumElements };
  ListVariant* const list = ChangeableIn<ListVariant>(operands[kList]);
  int32_t size;
  return list != nullptr && operands[kNumElements].value->Get(&size) && size == list->size() &&
         IsShape(*operands[kElementShape].value->tensor(), list->shape()) &&
         AddItem(operands[kList], operands[kIndex], operands[kItem], op, list, result);
}

bool AreAlike(const ListVariant& a, const ListVariant& b) {
  return a.dtype() == b.dtype() && a.size() == b.size() && a.shape().IsIdenticalTo(b.shape());
}

bool AccumulateLike(Operands operands, const SmallOp& op, Value* result) {
  enum { kList, kIndex, kItem, kLike };
  ListVariant* const list = ChangeableIn<ListVariant>(operands[kList]);
  const ListVariant* const like = HeldBy<ListVariant>(operands[kLike]);
  return list != nullptr && like != nullptr && AreAlike(*list, *like) &&
         AddItem(operands[kList], operands[kIndex], operands[kItem], op, list, result);
}

// Zeros like a list of plain numbers whose elements all have one shape.
bool ZerosLike(Operands operands, const SmallOp&, Value* result) {
  const ListVariant* const list = HeldBy<ListVariant>(operands[0]);
  ListVariant zeros;
  if (list == nullptr || !CanAdd(list->dtype()) || !list->shape().IsFullyDefined() ||
      !ListVariant::ZerosLike(*list, &zeros).ok()) {
    return false;
  }
  Tensor held(DT_VARIANT, {});
  held.scalar<Variant>()() = std::move(zeros);
  result->Set(std::move(held));
  return true;
}

// A list to which another one is added that has no elements.
bool AddNothing(Operands operands, const SmallOp&, Value* result) {
  ListVariant* const list = ChangeableIn<ListVariant>(operands[0]);
  const ListVariant* const added = HeldBy<ListVariant>(operands[1]);
  if (list == nullptr || added == nullptr || list->max_num_elements() != -1 ||
      !AreAlike(*list, *added) || !added->has_nothing()) {
    return false;
  }
  result->Assign(operands[0].value, /*last=*/true);
  return true;
}

bool Length(Operands operands, const SmallOp&, Value* result) {
  const ListVariant* const list = HeldBy<ListVariant>(operands[0]);
  if (list == nullptr) return false;
  result->SetScalar(static_cast<int32_t>(list->size()));
  return true;
}

template <typename T>
bool ElementShape(Operands operands, const SmallOp& op, Value* result) {
  const ListVariant* const list = HeldBy<ListVariant>(operands[0]);
  if (list == nullptr || list->shape().unknown_rank()) return false;
  const PartialTensorShape& shape = list->shape();
  Tensor sizes = MakeSmallTensor(op, tensorflow::DataTypeToEnum<T>::value, {shape.dims()});
  if (!sizes.IsInitialized()) return false;
  for (int d = 0; d < shape.dims(); ++d) {
    static_cast<T*>(sizes.data())[d] = static_cast<T>(shape.dim_size(d));
  }
  result->Set(std::move(sizes));
  return true;
}

// The small op that `run` computes, with the dtype of the list's elements.
template <SmallOp::Run run>
SmallOp OnElements(const Node& node) {
  SmallOp op = Running(run);
  (void)TryGetNodeAttr(node.attrs(), "element_dtype", &op.dtype);
  return op;
}

}  // namespace

SmallOp SumOfLists(const Node& node) {
  return node.num_inputs() == 2 ? Running(AddNothing) : SmallOp();
}

void AddSmallLists(SmallOpTable* table) {
  (*table)["TensorListGetItem"] = OnElements<GetItem>;
  (*table)["TensorListSetItem"] = OnElements<SetItem>;
  (*table)["TensorArrayGrad>ListAccumulate"] = OnElements<Accumulate>;
  (*table)["TensorArrayGrad>ListAccumulateLike"] = OnElements<AccumulateLike>;
  (*table)["ZerosLike"] = [](const Node& node) {
    return node.output_type(0) == DT_VARIANT ? Running(ZerosLike) : SmallOp();
  };
  (*table)["TensorListLength"] = [](const Node&) { return Running(Length); };
  (*table)["TensorListElementShape"] = [](const Node& node) {
    const bool is_int32 = node.output_type(0) == DT_INT32;
    return Running(is_int32 ? ElementShape<int32_t> : ElementShape<int64_t>);
  };
}

}  // namespace tensor_array_grad
