// The kernels of the ops that cut a tensor into the elements of a list. The rules are in
// cc/lists/list_write.h.

#include "cc/device/device_element_ops.h"
#include "cc/kernels/kernel_names.h"
#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/list_write.h"

namespace tensor_array_grad {
namespace {

// The base of kernels that output a new list, which Make makes.
class NewListKernel : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    DeviceElementOps ops(ctx);
    ListVariant list;
    TF_RETURN_IF_ERROR(Make(ctx, ops, &list));
    return OutputVariant(ctx, 0, std::move(list));
  }
  virtual absl::Status Make(OpKernelContext* ctx, ElementOps& ops, ListVariant* list) = 0;
};

class FromTensorOp : public NewListKernel {
 public:
  using NewListKernel::NewListKernel;

 protected:
  absl::Status Make(OpKernelContext* ctx, ElementOps& ops, ListVariant* list) override {
    return FromTensor(ctx->input(kTensor), ctx->input(kElementShape), ops, list);
  }

 private:
  enum Inputs { kTensor, kElementShape };
};

class ListSplitOp : public NewListKernel {
 public:
  using NewListKernel::NewListKernel;

 protected:
  absl::Status Make(OpKernelContext* ctx, ElementOps& ops, ListVariant* list) override {
    return Split(ctx->input(kTensor), ctx->input(kElementShape), ctx->input(kLengths), ops, list);
  }

 private:
  enum Inputs { kTensor, kElementShape, kLengths };
};

// TensorListScatter and TensorListScatterV2, which has num_elements.
class ListScatterOp : public NewListKernel {
 public:
  using NewListKernel::NewListKernel;

 protected:
  absl::Status Make(OpKernelContext* ctx, ElementOps& ops, ListVariant* list) override {
    int64_t size = -1;
    if (ctx->num_inputs() > kNumElements) {
      if (ctx->input(kNumElements).dims() != 0) {
        return InvalidList("num_elements must be a scalar");
      }
      TF_RETURN_IF_ERROR(GetInt(ctx, kNumElements, "num_elements", &size));
    }
    return Scatter(ctx->input(kTensor), ctx->input(kIndices), ctx->input(kElementShape), size, ops,
                   list);
  }

 private:
  enum Inputs { kTensor, kIndices, kElementShape, kNumElements };
};

class ScatterIntoExistingListOp : public OneListKernel {
 public:
  using OneListKernel::OneListKernel;

 protected:
  absl::Status RunOn(OpKernelContext* ctx, const InputList& list) override {
    DeviceElementOps ops(ctx);
    return ScatterInto(*list, ctx->input(kTensor), ctx->input(kIndices), ops,
                       [&](ListVariant** out) { return ForwardList(ctx, kList, list, 0, out); });
  }

 private:
  enum Inputs { kList, kTensor, kIndices };
};

}  // namespace

KernelTable ListWriteKernels() {
  return {
      {"TensorListFromTensor", MakeKernel<FromTensorOp>, {"element_shape"}, GpuElements()},
      {"TensorListScatter", MakeKernel<ListScatterOp>, {"indices", "element_shape"}, GpuElements()},
      {"TensorListScatterV2",
       MakeKernel<ListScatterOp>,
       {"indices", "element_shape", "num_elements"},
       GpuElements()},
      {"TensorListScatterIntoExistingList",
       MakeKernel<ScatterIntoExistingListOp>,
       {"indices"},
       GpuElements()},
      {"TensorListSplit", MakeKernel<ListSplitOp>, {"element_shape", "lengths"}, GpuElements()},
  };
}

}  // namespace tensor_array_grad
