// The kernels of the ops that change or make many lists: TensorListPushBackBatch and
// TensorListConcatLists.

#include <utility>
#include <vector>

#include "cc/device/device_element_ops.h"
#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/list_write.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

// Copies the lists of `handles`, which share their elements with the originals, and checks that a
// row of `tensor` can be pushed to each.
absl::Status ReadLists(tensorflow::TTypes<Variant>::ConstVec handles, DataType dtype,
                       const Tensor& tensor, std::vector<ListVariant>* lists) {
  TensorShape row = tensor.shape();
  TF_RETURN_IF_ERROR(row.RemoveDimWithStatus(0));
  lists->reserve(handles.size());
  for (int64_t i = 0; i < handles.size(); ++i) {
    InputList list;
    if (!list.Assign(handles(i))) {
      return Invalid("Input handle at index ", i, " is not a list. Saw: '",
                     handles(i).DebugString(), "'");
    }
    TF_RETURN_IF_ERROR(CheckRow(i, *list, dtype, row));
    lists->push_back(*list);
  }
  return absl::OkStatus();
}

absl::Status PushBackBatch(KernelCall& call) {
  enum Inputs { kLists, kTensor };
  const Tensor &handles = call.Input(kLists), &tensor = call.Input(kTensor);
  if (tensor.dims() == 0) {
    return Invalid("Expected tensor to be at least a vector, but saw shape: ",
                   tensor.shape().DebugString());
  }
  if (handles.dims() != 1) {
    return Invalid("Expected input_handles to be a vector, but saw shape: ",
                   handles.shape().DebugString());
  }
  if (tensor.dim_size(0) != handles.NumElements()) {
    return Invalid("Expected tensor.shape[0] == input_handles.size, but saw ", tensor.dim_size(0),
                   " vs. ", handles.NumElements());
  }
  std::vector<ListVariant> lists;
  TF_RETURN_IF_ERROR(ReadLists(handles.vec<Variant>(), call.dtype(), tensor, &lists));
  Tensor* out;
  TF_RETURN_IF_ERROR(AllocateOutput(call.ctx(), 0, handles.shape(), &out));
  DeviceElementOps ops(call.ctx());
  TF_RETURN_IF_ERROR(PushRows(tensor, ops, absl::MakeSpan(lists)));
  auto* to = out->vec<Variant>().data();
  for (ListVariant& list : lists) *to++ = std::move(list);
  return absl::OkStatus();
}

// Sets `list` to the list in `variant`, element `i` of input `name`. Checks its dtype.
absl::Status ReadList(absl::string_view name, int64_t i, const Variant& variant, DataType dtype,
                      InputList* list) {
  if (!list->Assign(variant)) {
    return Invalid(name, " is not a TensorList at index ", i, ".  Saw: '", variant.DebugString(),
                   "'");
  }
  if ((*list)->dtype() == dtype) return absl::OkStatus();
  return Invalid(name, "[", i, "].dtype != element_dtype.  Saw: ", DataTypeString((*list)->dtype()),
                 " vs. ", DataTypeString(dtype));
}

absl::Status ConcatLists(KernelCall& call) {
  const Tensor &a = call.Input(0), &b = call.Input(1);
  if (a.shape() != b.shape()) {
    return Invalid("Incompatible input TensorList tensor shapes: ", a.shape().DebugString(),
                   " vs. ", b.shape().DebugString());
  }
  Tensor* out;
  TF_RETURN_IF_ERROR(AllocateOutput(call.ctx(), 0, a.shape(), &out));
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    InputList first, second;
    TF_RETURN_IF_ERROR(ReadList("input_a", i, a.flat<Variant>()(i), call.dtype(), &first));
    TF_RETURN_IF_ERROR(ReadList("input_b", i, b.flat<Variant>()(i), call.dtype(), &second));
    if (!first->shape().IsIdenticalTo(second->shape())) {
      return Invalid(
          "input_a and input_b TensorList element shapes are not identical at "
          "index ",
          i, ".  Saw ", first->shape().DebugString(), " vs. ", second->shape().DebugString());
    }
    TF_RETURN_IF_ERROR(CheckSize(first->size() + second->size()));
    ListVariant joined = *first;
    joined.Append(*second);
    out->flat<Variant>()(i) = std::move(joined);
  }
  return absl::OkStatus();
}

}  // namespace

KernelTable ListBulkKernels() {
  return {
      {ops::kTensorListPushBackBatch, MakeKernel<ListFunction<PushBackBatch>>, {}, GpuElements()},
      {ops::kTensorListConcatLists, MakeKernel<ListFunction<ConcatLists>>, {}},
  };
}

}  // namespace tensor_array_grad
