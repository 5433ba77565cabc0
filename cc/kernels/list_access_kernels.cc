// The kernels of the ops that make a list or handle one element of it. None costs more than O(log
// n), except reading an unset element whose shape has to be found from the other elements.
//
// A kernel that changes a list makes all checks before it calls ForwardList. ForwardList may hand
// over the input's list to be changed in place, and an error must leave the input unchanged.

#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/element_shape.h"
#include "cc/lists/list_read.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

absl::Status EmptyList(OpKernelContext* ctx, DataType dtype) {
  enum Inputs { kElementShape, kMaxNumElements };
  const Tensor& bound = ctx->input(kMaxNumElements);
  if (bound.dims() != 0) {
    return InvalidList("max_num_elements expected to be a scalar but got shape: ",
                       bound.shape().DebugString());
  }
  ListSpec spec;
  spec.dtype = dtype;
  spec.max_num_elements = bound.scalar<int32_t>()();
  TF_RETURN_IF_ERROR(ShapeFromTensor(ctx->input(kElementShape), &spec.shape));
  return OutputVariant(ctx, 0, ListVariant(std::move(spec), 0));
}

// Reads and checks the inputs of TensorListReserve, with stock's errors. ListAccumulate has these
// inputs too.
absl::Status ReservedList(OpKernelContext* ctx, int shape_input, int size_input,
                          PartialTensorShape* shape, int64_t* size) {
  TF_RETURN_IF_ERROR(ShapeFromTensor(ctx->input(shape_input), shape));
  const Tensor& wanted = ctx->input(size_input);
  if (wanted.dims() != 0) {
    return InvalidList("The num_elements to reserve must be a tensor size 1, but got ",
                       wanted.shape().DebugString());
  }
  *size = wanted.scalar<int32_t>()();
  if (*size >= 0) return absl::OkStatus();
  return InvalidList("The num_elements to reserve must be a non negative number, but got ", *size);
}

absl::Status Reserve(OpKernelContext* ctx, DataType dtype) {
  enum Inputs { kElementShape, kNumElements };
  ListSpec spec;
  spec.dtype = dtype;
  int64_t size;
  TF_RETURN_IF_ERROR(ReservedList(ctx, kElementShape, kNumElements, &spec.shape, &size));
  return OutputVariant(ctx, 0, ListVariant(std::move(spec), size));
}

absl::Status Length(OpKernelContext* ctx, const InputList& list, DataType) {
  Tensor* length;
  TF_RETURN_IF_ERROR(AllocateOutput(ctx, 0, TensorShape({}), &length));
  length->scalar<int32_t>()() = static_cast<int32_t>(list->size());
  return absl::OkStatus();
}

absl::Status ElementShape(OpKernelContext* ctx, const InputList& list, DataType) {
  const PartialTensorShape& shape = list->shape();
  const bool known = !shape.unknown_rank();
  Tensor* sizes;
  TF_RETURN_IF_ERROR(
      AllocateOutput(ctx, 0, known ? TensorShape({shape.dims()}) : TensorShape({}), &sizes));
  const int count = known ? shape.dims() : 1;
  for (int i = 0; i < count; ++i) {
    const int64_t size = known ? shape.dim_size(i) : -1;
    if (sizes->dtype() == DT_INT32) {
      sizes->flat<int32_t>()(i) = static_cast<int32_t>(size);
    } else {
      sizes->flat<int64_t>()(i) = size;
    }
  }
  return absl::OkStatus();
}

// Sets output `output` to `value`: the element itself, zeros like it, or zeros of value.shape.
absl::Status OutputElement(OpKernelContext* ctx, int output, const ElementValue& value) {
  const ListElement& element = value.element;
  if (element.kind == ListElement::kSet) {
    ctx->set_output(output, *element.tensor);
    return absl::OkStatus();
  }
  if (element.kind == ListElement::kZeros) {
    Tensor zeros;
    TF_RETURN_IF_ERROR(ZerosLikeTensor(ctx, *element.tensor, &zeros));
    ctx->set_output(output, zeros);
    return absl::OkStatus();
  }
  Tensor* zeros;
  TF_RETURN_IF_ERROR(AllocateOutput(ctx, output, value.shape, &zeros));
  return FillZeros(ctx, zeros);
}

absl::Status GetItem(OpKernelContext* ctx, const InputList& list, DataType dtype) {
  enum Inputs { kList, kIndex, kElementShape };
  TF_RETURN_IF_ERROR(CheckDtypes(dtype, list->dtype()));
  int64_t index;
  TF_RETURN_IF_ERROR(GetInt(ctx, kIndex, "index", &index));
  ElementValue value;
  TF_RETURN_IF_ERROR(ReadElement(*list, index, ctx->input(kElementShape), &value));
  return OutputElement(ctx, 0, value);
}

class SetItemOp : public Cheap<ListKernel> {
 public:
  explicit SetItemOp(OpKernelConstruction* ctx) : Cheap(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("resize_if_index_out_of_bounds", &grows_));
  }

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    InputList list;
    TF_RETURN_IF_ERROR(GetList(ctx, kList, &list));
    TF_RETURN_IF_ERROR(CheckDtypes(element_dtype_, list->dtype()));
    int64_t index;
    TF_RETURN_IF_ERROR(GetInt(ctx, kIndex, "index", &index));
    const Tensor& item = ctx->input(kItem);
    TF_RETURN_IF_ERROR(CheckSet(list->shape(), list->size(), index, item, grows_));
    ListVariant* out;
    TF_RETURN_IF_ERROR(ForwardList(ctx, kList, list, 0, &out));
    if (index >= out->size()) out->Resize(index + 1);
    out->Set(index, item);
    return absl::OkStatus();
  }

 private:
  enum Inputs { kList, kIndex, kItem };
  bool grows_ = false;
};

absl::Status Resize(OpKernelContext* ctx, const InputList& list, DataType) {
  enum Inputs { kList, kSize };
  int64_t size;
  TF_RETURN_IF_ERROR(GetInt(ctx, kSize, "size", &size));
  if (size < 0) {
    return InvalidList("TensorListSlice expects size to be non-negative. Got: ", size);
  }
  ListVariant* out;
  TF_RETURN_IF_ERROR(ForwardList(ctx, kList, list, 0, &out));
  out->Resize(size);
  return absl::OkStatus();
}

absl::Status PushBack(OpKernelContext* ctx, const InputList& list, DataType dtype) {
  enum Inputs { kList, kTensor };
  const Tensor& item = ctx->input(kTensor);
  const int64_t size = list->size();
  TF_RETURN_IF_ERROR(CheckPush(list->spec(), size, dtype, item));
  ListVariant* out;
  TF_RETURN_IF_ERROR(ForwardList(ctx, kList, list, 0, &out));
  out->Resize(size + 1);
  out->Set(size, item);
  return absl::OkStatus();
}

absl::Status PopBack(OpKernelContext* ctx, const InputList& list, DataType dtype) {
  enum Inputs { kList, kElementShape };
  enum Outputs { kShorter, kItem };
  TF_RETURN_IF_ERROR(CheckDtypes(dtype, list->dtype()));
  ElementValue value;
  TF_RETURN_IF_ERROR(ReadLast(*list, ctx->input(kElementShape), &value));
  TF_RETURN_IF_ERROR(OutputElement(ctx, kItem, value));
  ListVariant* out;
  TF_RETURN_IF_ERROR(ForwardList(ctx, kList, list, kShorter, &out));
  out->Resize(out->size() - 1);
  return absl::OkStatus();
}

// Adds a list with one set element to another, with these inputs and those of the kernel.
enum AccumulateInputs { kSum, kIndex, kItem, kFirstOfItsOwn };

// Adds to the list in input kSum a list of `size` elements of `dtype` and `shape`, of which only
// the element at kIndex is set, to kItem. Makes the checks of the TensorListSetItem and the AddN
// that it replaces, in that order.
absl::Status Accumulate(OpKernelContext* ctx, DataType dtype, PartialTensorShape shape,
                        int64_t size) {
  int64_t index;
  TF_RETURN_IF_ERROR(GetInt(ctx, kIndex, "index", &index));
  const Tensor& item = ctx->input(kItem);
  TF_RETURN_IF_ERROR(CheckSet(shape, size, index, item));
  InputList list;
  TF_RETURN_IF_ERROR(GetList(ctx, kSum, &list));
  TF_RETURN_IF_ERROR(list->CheckAddable({dtype, shape, -1}, size, &shape));
  Tensor sum = item;
  const ListElement before = list->Get(index);
  if (before.kind == ListElement::kSet) {
    TF_RETURN_IF_ERROR(AddTensors(ctx, *before.tensor, item, &sum));
  }
  ListVariant* out;
  TF_RETURN_IF_ERROR(ForwardList(ctx, kSum, list, 0, &out));
  out->BecomeSum(shape);
  out->Set(index, std::move(sum));
  return absl::OkStatus();
}

// The added list has the element shape and the length in the inputs. They are checked as by
// TensorListReserve.
absl::Status ListAccumulate(OpKernelContext* ctx, DataType dtype) {
  enum Inputs { kElementShape = kFirstOfItsOwn, kNumElements };
  PartialTensorShape shape;
  int64_t size;
  TF_RETURN_IF_ERROR(ReservedList(ctx, kElementShape, kNumElements, &shape, &size));
  return Accumulate(ctx, dtype, std::move(shape), size);
}

// The added list has the element shape and the length of the list in input kLike.
absl::Status ListAccumulateLike(OpKernelContext* ctx, DataType dtype) {
  enum Inputs { kLike = kFirstOfItsOwn };
  InputList like;
  TF_RETURN_IF_ERROR(GetList(ctx, kLike, &like));
  return Accumulate(ctx, dtype, like->shape(), like->size());
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
      {"EmptyTensorList",
       MakeKernel<Cheap<ListFunction<EmptyList>>>,
       {"element_shape", "max_num_elements"}},
      {"TensorListReserve",
       MakeKernel<Cheap<ListFunction<Reserve>>>,
       {"element_shape", "num_elements"}},
      {"TensorListLength", MakeKernel<Cheap<OneListFunction<Length>>>, {"length"}},
      {"TensorListElementShape",
       MakeKernel<Cheap<OneListFunction<ElementShape>>>,
       {"element_shape"}},
      {"TensorListGetItem",
       MakeKernel<Cheap<OneListFunction<GetItem>>>,
       {"index", "element_shape"},
       GpuElements()},
      {"TensorListSetItem", MakeKernel<SetItemOp>, {"index"}, GpuElements()},
      {"TensorListResize", MakeKernel<Cheap<OneListFunction<Resize>>>, {"size"}},
      {"TensorListPushBack", MakeKernel<Cheap<OneListFunction<PushBack>>>, {}},
      {"TensorListPopBack",
       MakeKernel<Cheap<OneListFunction<PopBack>>>,
       {"element_shape"},
       GpuElements({DT_VARIANT})},
      accumulating("TensorArrayGrad>ListAccumulate",
                   MakeKernel<Cheap<ListFunction<ListAccumulate>>>,
                   {"index", "element_shape", "num_elements"}),
      accumulating("TensorArrayGrad>ListAccumulateLike",
                   MakeKernel<Cheap<ListFunction<ListAccumulateLike>>>, {"index"}),
  };
}

}  // namespace tensor_array_grad
