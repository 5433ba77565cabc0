// The kernels of the ops that make a list or handle one element of it. None costs more than O(log
// n), except reading an unset element whose shape has to be found from the other elements, freeing
// elements (a Resize to fewer), and a call on one of stock's lists, which is converted first.
//
// A kernel that changes a list makes all checks before it calls Forward. Forward may hand over the
// input's list to be changed in place, and an error must leave the input unchanged.

#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/element_shape.h"
#include "cc/lists/list_bodies.h"

namespace tensor_array_grad {
namespace {

absl::Status EmptyList(KernelCall& call) {
  enum Inputs { kElementShape, kMaxNumElements };
  const Tensor& bound = call.Input(kMaxNumElements);
  if (bound.dims() != 0) {
    return Invalid("max_num_elements expected to be a scalar but got shape: ",
                   bound.shape().DebugString());
  }
  ListSpec spec;
  spec.dtype = call.dtype();
  spec.max_num_elements = bound.scalar<int32_t>()();
  TF_RETURN_IF_ERROR(ShapeFromTensor(call.Input(kElementShape), &spec.shape));
  return OutputVariant(call.ctx(), 0, ListVariant(std::move(spec), 0));
}

absl::Status Reserve(KernelCall& call) {
  enum Inputs { kElementShape, kNumElements };
  ListSpec spec;
  spec.dtype = call.dtype();
  TF_RETURN_IF_ERROR(ShapeFromTensor(call.Input(kElementShape), &spec.shape));
  int64_t size = 0;
  TF_RETURN_IF_ERROR(ReservedSize(call.Input(kNumElements), &size));
  return OutputVariant(call.ctx(), 0, ListVariant(std::move(spec), size));
}

absl::Status Length(KernelCall& call, const ListVariant& list) {
  Tensor* length;
  TF_RETURN_IF_ERROR(AllocateOutput(call.ctx(), 0, TensorShape({}), &length));
  length->scalar<int32_t>()() = static_cast<int32_t>(list.size());
  return absl::OkStatus();
}

absl::Status Resize(KernelCall& call, const ListVariant& list) {
  enum Inputs { kList, kSize };
  int64_t size;
  TF_RETURN_IF_ERROR(call.GetInt(kSize, "size", &size));
  if (size < 0) {
    return Invalid("TensorListSlice expects size to be non-negative. Got: ", size);
  }
  ListVariant* out;
  TF_RETURN_IF_ERROR(call.Forward(kList, list, &out));
  out->Resize(size);
  return absl::OkStatus();
}

absl::Status PushBack(KernelCall& call, const ListVariant& list) {
  enum Inputs { kList, kTensor };
  const Tensor& item = call.Input(kTensor);
  const int64_t size = list.size();
  TF_RETURN_IF_ERROR(CheckPush(list.spec(), size, item));
  ListVariant* out;
  TF_RETURN_IF_ERROR(call.Forward(kList, list, &out));
  out->Resize(size + 1);
  out->Set(size, item);
  return absl::OkStatus();
}

absl::Status PopBack(KernelCall& call, const ListVariant& list) {
  enum Inputs { kList, kElementShape };
  enum Outputs { kShorter, kItem };
  TF_RETURN_IF_ERROR(CheckDtypes(call.dtype(), list.dtype()));
  ElementValue value;
  TF_RETURN_IF_ERROR(ReadLast(list, call.Input(kElementShape), &value));
  TF_RETURN_IF_ERROR(call.OutputElement(kItem, value));
  ListVariant* out;
  TF_RETURN_IF_ERROR(call.Forward(kList, list, &out));
  out->Resize(out->size() - 1);
  return absl::OkStatus();
}

}  // namespace

KernelTable ListAccessKernels() {
  const auto accumulating = [](const char* op, auto* create, std::vector<const char*> on_host) {
    return KernelSpec{op,
                      create,
                      std::move(on_host),
                      GpuElements(),
                      KernelSpec::kCpuAndGpu,
                      /*needs_our_lists=*/true};
  };
  return {
      {ops::kEmptyTensorList,
       MakeKernel<Cheap<ListFunction<EmptyList>>>,
       {"element_shape", "max_num_elements"}},
      {ops::kTensorListReserve,
       MakeKernel<Cheap<ListFunction<Reserve>>>,
       {"element_shape", "num_elements"}},
      {ops::kTensorListLength, MakeKernel<Cheap<OneListFunction<Length>>>, {"length"}},
      {ops::kTensorListElementShape,
       MakeKernel<Cheap<ListFunction<ElementShape>>>,
       {"element_shape"}},
      {ops::kTensorListGetItem,
       MakeKernel<Cheap<ListFunction<GetItem>>>,
       {"index", "element_shape"},
       GpuElements()},
      {ops::kTensorListSetItem, MakeKernel<Cheap<ListFunction<SetItem>>>, {"index"}, GpuElements()},
      {ops::kTensorListResize, MakeKernel<Cheap<OneListFunction<Resize>>>, {"size"}},
      {ops::kTensorListPushBack, MakeKernel<Cheap<OneListFunction<PushBack>>>, {}},
      {ops::kTensorListPopBack,
       MakeKernel<Cheap<OneListFunction<PopBack>>>,
       {"element_shape"},
       GpuElements({DT_VARIANT})},
      accumulating(ops::kListAccumulate, MakeKernel<Cheap<ListFunction<ListAccumulate>>>,
                   {"index", "element_shape", "num_elements"}),
      accumulating(ops::kListAccumulateLike, MakeKernel<Cheap<ListFunction<ListAccumulateLike>>>,
                   {"index"}),
  };
}

}  // namespace tensor_array_grad
