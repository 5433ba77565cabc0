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
absl::Status OutputNewList(OpKernelContext* ctx, Make make) {
  DeviceElementOps ops(ctx);
  ListVariant list;
  TF_RETURN_IF_ERROR(make(ops, &list));
  return OutputVariant(ctx, 0, std::move(list));
}

absl::Status ListFromTensor(OpKernelContext* ctx, DataType) {
  enum Inputs { kTensor, kElementShape };
  return OutputNewList(ctx, [ctx](ElementOps& ops, ListVariant* list) {
    return FromTensor(ctx->input(kTensor), ctx->input(kElementShape), ops, list);
  });
}

absl::Status SplitIntoList(OpKernelContext* ctx, DataType) {
  enum Inputs { kTensor, kElementShape, kLengths };
  return OutputNewList(ctx, [ctx](ElementOps& ops, ListVariant* list) {
    return Split(ctx->input(kTensor), ctx->input(kElementShape), ctx->input(kLengths), ops, list);
  });
}

// TensorListScatter and TensorListScatterV2, which has num_elements.
absl::Status ScatterIntoList(OpKernelContext* ctx, DataType) {
  enum Inputs { kTensor, kIndices, kElementShape, kNumElements };
  int64_t size = -1;
  if (ctx->num_inputs() > kNumElements) {
    if (ctx->input(kNumElements).dims() != 0) return InvalidList("num_elements must be a scalar");
    TF_RETURN_IF_ERROR(GetInt(ctx, kNumElements, "num_elements", &size));
  }
  return OutputNewList(ctx, [ctx, size](ElementOps& ops, ListVariant* list) {
    return Scatter(ctx->input(kTensor), ctx->input(kIndices), ctx->input(kElementShape), size, ops,
                   list);
  });
}

absl::Status ScatterIntoExistingList(OpKernelContext* ctx, const InputList& list, DataType) {
  enum Inputs { kList, kTensor, kIndices };
  DeviceElementOps ops(ctx);
  return ScatterInto(*list, ctx->input(kTensor), ctx->input(kIndices), ops,
                     [&](ListVariant** out) { return ForwardList(ctx, kList, list, 0, out); });
}

}  // namespace

KernelTable ListWriteKernels() {
  return {
      {"TensorListFromTensor",
       MakeKernel<ListFunction<ListFromTensor>>,
       {"element_shape"},
       GpuElements()},
      {"TensorListScatter",
       MakeKernel<ListFunction<ScatterIntoList>>,
       {"indices", "element_shape"},
       GpuElements()},
      {"TensorListScatterV2",
       MakeKernel<ListFunction<ScatterIntoList>>,
       {"indices", "element_shape", "num_elements"},
       GpuElements()},
      {"TensorListScatterIntoExistingList",
       MakeKernel<OneListFunction<ScatterIntoExistingList>>,
       {"indices"},
       GpuElements()},
      {"TensorListSplit",
       MakeKernel<ListFunction<SplitIntoList>>,
       {"element_shape", "lengths"},
       GpuElements()},
  };
}

}  // namespace tensor_array_grad
