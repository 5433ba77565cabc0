#ifndef CC_LISTS_LIST_BODIES_H_
#define CC_LISTS_LIST_BODIES_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"
#include "cc/lists/element_shape.h"
#include "cc/lists/list_checks.h"
#include "cc/lists/list_variant.h"
#include "cc/lists/loop_stack.h"

// The bodies of the ops on the shape or on one element of a list, or on one row of a loop stack.
// Each is written once, for the op's kernel and for its small op, over a Call: one call of the op.
// KernelCall (kernels/list_kernel_util.h) is the call of a kernel, RegisterCall
// (small_ops/small_lists.cc) that of a small op on registers. A Call has
//
//     dtype(), may_grow()       the attributes element_dtype and resize_if_index_out_of_bounds
//     num_inputs(), num_outputs(), output_type(i)
//     Input(i)                  the tensor in input i
//     GetInt(i, name, &number)  the number in input i, which an error calls `name`
//     Get(i, &list)             the list, or the loop stack, in input i
//     AddTo(a, &b)              b = a + b, in a new buffer
//     Forward(i, list, &out)    makes output 0 equal to `list`, of input i, for the body to change
//     Output(i, tensor)         makes output i `tensor`
//     OutputOther(list, index)  makes output 0 the element at an index that is not set
//
// An error is what the kernel reports. A RegisterCall also returns one for what it leaves to the
// kernel. The kernel is called next in both cases, so a body first makes all checks, calls Forward
// as the last call that may fail, and then changes `out` and sets other outputs.
//
// *Sharing parity* (flow/sum_order.h) holds because there is one body, and its two Calls agree:
//
//   - Forward changes input i in place if nothing else refers to its buffer. The interpreter gives
//     a kernel a second reference unless the instruction is the register's last reader (the class
//     RegisterMachine). A RegisterCall asks for both, and leaves the copy to the kernel.
//   - AddTo makes a new buffer. Output shares that of the tensor.
//
// A body copies an item before Forward: if it is the list itself, the list has a second reference.
namespace tensor_array_grad {

// TensorListGetItem.
template <typename Call>
absl::Status GetItem(Call& call) {
  enum Inputs { kList, kIndex };
  const ListVariant* list = nullptr;
  TF_RETURN_IF_ERROR(call.Get(kList, &list));
  TF_RETURN_IF_ERROR(CheckDtypes(call.dtype(), list->dtype()));
  int64_t index = 0;
  TF_RETURN_IF_ERROR(call.GetInt(kIndex, "index", &index));
  if (index >= 0 && index < list->size()) {  // usually set, which needs no shape
    const ListElement element = list->Get(index);
    if (element.kind == ListElement::kSet) return call.Output(0, *element.tensor);
  }
  return call.OutputOther(*list, index);
}

// TensorListElementShape.
template <typename Call>
absl::Status ElementShape(Call& call) {
  const ListVariant* list = nullptr;
  TF_RETURN_IF_ERROR(call.Get(0, &list));
  return call.Output(0, ShapeToTensor(list->shape(), call.output_type(0)));
}

// TensorListSetItem.
template <typename Call>
absl::Status SetItem(Call& call) {
  enum Inputs { kList, kIndex, kItem };
  const ListVariant* list = nullptr;
  TF_RETURN_IF_ERROR(call.Get(kList, &list));
  TF_RETURN_IF_ERROR(CheckDtypes(call.dtype(), list->dtype()));
  int64_t index = 0;
  TF_RETURN_IF_ERROR(call.GetInt(kIndex, "index", &index));
  Tensor item = call.Input(kItem);
  TF_RETURN_IF_ERROR(CheckSet(list->shape(), list->size(), index, item, call.may_grow()));
  ListVariant* out = nullptr;
  TF_RETURN_IF_ERROR(call.Forward(kList, *list, &out));
  if (index >= out->size()) out->Resize(index + 1);
  out->Set(index, std::move(item));
  return absl::OkStatus();
}

// The inputs of an op that adds to a list another one that has a single set element.
struct Addition {
  enum Inputs { kList, kIndex, kItem, kFirstOfItsOwn };
};

// Adds to `list` a list of `size` elements of `shape`, of which only the element at kIndex is
// set, to kItem. `has_list` says whether `list` is the list in input kList. Makes the checks of
// the TensorListSetItem and the AddN that the op replaces, in that order.
template <typename Call>
absl::Status Accumulate(Call& call, const ListVariant* list, const absl::Status& has_list,
                        const PartialTensorShape& shape, int64_t size) {
  int64_t index = 0;
  TF_RETURN_IF_ERROR(call.GetInt(Addition::kIndex, "index", &index));
  Tensor item = call.Input(Addition::kItem);
  TF_RETURN_IF_ERROR(CheckSet(shape, size, index, item));
  TF_RETURN_IF_ERROR(has_list);
  std::optional<PartialTensorShape> merged;  // unless the sum has the shape and bound of `list`
  if (!list->IsLikeSum(call.dtype(), shape, size)) {
    TF_RETURN_IF_ERROR(list->CheckAddable({call.dtype(), shape, -1}, size, &merged.emplace()));
  }
  const ListElement before = list->Get(index);
  if (before.kind == ListElement::kSet) TF_RETURN_IF_ERROR(call.AddTo(*before.tensor, &item));
  ListVariant* out = nullptr;
  TF_RETURN_IF_ERROR(call.Forward(Addition::kList, *list, &out));
  if (merged) out->BecomeSum(*merged);
  out->Set(index, std::move(item));
  return absl::OkStatus();
}

// ListAccumulate. The added list has the element shape and the length in the inputs, which are
// checked as by TensorListReserve. In the usual case the sum has that shape, and none is made.
template <typename Call>
absl::Status ListAccumulate(Call& call) {
  enum Inputs { kElementShape = Addition::kFirstOfItsOwn, kNumElements };
  const ListVariant* list = nullptr;
  const absl::Status has_list = call.Get(Addition::kList, &list);
  const Tensor& sizes = call.Input(kElementShape);
  std::optional<PartialTensorShape> other;
  if (!has_list.ok() || !IsShape(sizes, list->shape())) {
    TF_RETURN_IF_ERROR(ShapeFromTensor(sizes, &other.emplace()));
  }
  int64_t size = 0;
  TF_RETURN_IF_ERROR(ReservedSize(call.Input(kNumElements), &size));
  return Accumulate(call, list, has_list, other ? *other : list->shape(), size);
}

// ListAccumulateLike. The added list has the element shape and the length of the list in kLike.
template <typename Call>
absl::Status ListAccumulateLike(Call& call) {
  enum Inputs { kLike = Addition::kFirstOfItsOwn };
  const ListVariant *list = nullptr, *like = nullptr;
  TF_RETURN_IF_ERROR(call.Get(kLike, &like));
  const absl::Status has_list = call.Get(Addition::kList, &list);
  return Accumulate(call, list, has_list, like->shape(), like->size());
}

// PushLoopStack: pushes one row, a value for each list. Makes the checks of TensorListPushBack for
// each of them.
template <typename Call>
absl::Status PushRow(Call& call) {
  const LoopStack* before = nullptr;
  TF_RETURN_IF_ERROR(call.Get(0, &before));
  const int count = call.num_inputs() - 1;
  TF_RETURN_IF_ERROR(CheckNumber(before->specs().size(), count));
  LoopStackRow::Values row;
  for (int i = 0; i < count; ++i) {
    const Tensor& value = call.Input(1 + i);
    TF_RETURN_IF_ERROR(CheckPush(before->specs()[i], before->size(), value));
    if (row.size() < before->kept()) row.push_back(value);
  }
  LoopStack* out = nullptr;
  TF_RETURN_IF_ERROR(call.Forward(0, *before, &out));
  out->Push(std::move(row));
  return absl::OkStatus();
}

// PopLoopStack: removes the last row and outputs its values, one for each kept list.
template <typename Call>
absl::Status PopRow(Call& call) {
  const LoopStack* before = nullptr;
  TF_RETURN_IF_ERROR(call.Get(0, &before));
  const int count = call.num_outputs() - 1;
  TF_RETURN_IF_ERROR(CheckNumber(before->kept(), count));
  for (int i = 0; i < count; ++i) {
    TF_RETURN_IF_ERROR(CheckDtypes(call.output_type(1 + i), before->specs()[i].dtype));
  }
  if (before->size() == 0) return Invalid("Trying to pop from an empty list.");
  LoopStack* out = nullptr;
  TF_RETURN_IF_ERROR(call.Forward(0, *before, &out));
  LoopStackRow::Values row = out->Pop();
  for (int i = 0; i < count; ++i) TF_RETURN_IF_ERROR(call.Output(1 + i, std::move(row[i])));
  return absl::OkStatus();
}

}  // namespace tensor_array_grad

#endif  // CC_LISTS_LIST_BODIES_H_
