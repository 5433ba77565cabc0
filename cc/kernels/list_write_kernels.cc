// The kernels of the ops that cut a tensor into the elements of a list. The rules are in
// cc/lists/list_write.h.

#include <utility>

#include "cc/device/device_element_ops.h"
#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/list_write.h"

namespace tensor_array_grad {
namespace {

// Outputs the list that make(ops, &list) makes.
template <typename Make>
absl::Status OutputNewList(KernelCall& call, Make make) {
  DeviceElementOps ops(call.ctx());
  ListVariant list;
  TF_RETURN_IF_ERROR(make(ops, &list));
  return OutputVariant(call.ctx(), 0, std::move(list));
}

absl::Status ListFromTensor(KernelCall& call) {
  enum Inputs { kTensor, kElementShape };
  return OutputNewList(call, [&call](ElementOps& ops, ListVariant* list) {
    return FromTensor(call.Input(kTensor), call.Input(kElementShape), ops, list);
  });
}

absl::Status SplitIntoList(KernelCall& call) {
  enum Inputs { kTensor, kElementShape, kLengths };
  return OutputNewList(call, [&call](ElementOps& ops, ListVariant* list) {
    return Split(call.Input(kTensor), call.Input(kElementShape), call.Input(kLengths), ops, list);
  });
}

// TensorListScatter and TensorListScatterV2, which has num_elements.
absl::Status ScatterIntoList(KernelCall& call) {
  enum Inputs { kTensor, kIndices, kElementShape, kNumElements };
  int64_t size = -1;
  if (call.num_inputs() > kNumElements) {
    if (call.Input(kNumElements).dims() != 0) return Invalid("num_elements must be a scalar");
    TF_RETURN_IF_ERROR(call.GetInt(kNumElements, "num_elements", &size));
  }
  return OutputNewList(call, [&call, size](ElementOps& ops, ListVariant* list) {
    return Scatter(call.Input(kTensor), call.Input(kIndices), call.Input(kElementShape), size, ops,
                   list);
  });
}

absl::Status ScatterIntoExistingList(KernelCall& call, const ListVariant& list) {
  enum Inputs { kList, kTensor, kIndices };
  DeviceElementOps ops(call.ctx());
  return ScatterInto(list, call.Input(kTensor), call.Input(kIndices), ops,
                     [&](ListVariant** out) { return call.Forward(kList, list, out); });
}

}  // namespace

KernelTable ListWriteKernels() {
  return {
      {ops::kTensorListFromTensor,
       MakeKernel<ListFunction<ListFromTensor>>,
       {"element_shape"},
       GpuElements()},
      {ops::kTensorListScatter,
       MakeKernel<ListFunction<ScatterIntoList>>,
       {"indices", "element_shape"},
       GpuElements()},
      {ops::kTensorListScatterV2,
       MakeKernel<ListFunction<ScatterIntoList>>,
       {"indices", "element_shape", "num_elements"},
       GpuElements()},
      {ops::kTensorListScatterIntoExistingList,
       MakeKernel<OneListFunction<ScatterIntoExistingList>>,
       {"indices"},
       GpuElements()},
      {ops::kTensorListSplit,
       MakeKernel<ListFunction<SplitIntoList>>,
       {"element_shape", "lengths"},
       GpuElements()},
  };
}

}  // namespace tensor_array_grad
