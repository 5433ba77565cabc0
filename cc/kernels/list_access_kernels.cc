// The kernels of the ops that make a list or handle one element of it. None costs more than O(log
// n), except reading an unset element whose shape has to be found from the other elements.
//
// A kernel that changes a list makes all checks before it calls ForwardList. ForwardList may hand
// over the input's list to be changed in place, and an error must leave the input unchanged.

#include "cc/base/tensorflow_names.h"
#include "cc/kernels/kernel_names.h"
#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/element_shape.h"
#include "cc/lists/list_read.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

class EmptyListOp : public Cheap<ListKernel> {
 public:
  using Cheap::Cheap;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    const Tensor& bound = ctx->input(kMaxNumElements);
    if (bound.dims() != 0) {
      return InvalidList("max_num_elements expected to be a scalar but got shape: ",
                         bound.shape().DebugString());
    }
    ListSpec spec;
    spec.dtype = element_dtype_;
    spec.max_num_elements = bound.scalar<int32_t>()();
    TF_RETURN_IF_ERROR(ShapeFromTensor(ctx->input(kElementShape), &spec.shape));
    return OutputVariant(ctx, 0, ListVariant(std::move(spec), 0));
  }

 private:
  enum Inputs { kElementShape, kMaxNumElements };
};

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

class ReserveOp : public Cheap<ListKernel> {
 public:
  using Cheap::Cheap;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    ListSpec spec;
    spec.dtype = element_dtype_;
    int64_t size;
    TF_RETURN_IF_ERROR(ReservedList(ctx, kElementShape, kNumElements, &spec.shape, &size));
    return OutputVariant(ctx, 0, ListVariant(std::move(spec), size));
  }

 private:
  enum Inputs { kElementShape, kNumElements };
};

class LengthOp : public Cheap<OneListKernel> {
 public:
  using Cheap::Cheap;

 protected:
  absl::Status RunOn(OpKernelContext* ctx, const InputList& list) override {
    Tensor* length;
    TF_RETURN_IF_ERROR(AllocateOutput(ctx, 0, TensorShape({}), &length));
    length->scalar<int32_t>()() = static_cast<int32_t>(list->size());
    return absl::OkStatus();
  }
};

class ElementShapeOp : public Cheap<OneListKernel> {
 public:
  using Cheap::Cheap;

 protected:
  absl::Status RunOn(OpKernelContext* ctx, const InputList& list) override {
    const PartialTensorShape& shape = list->shape();
    const bool known = !shape.unknown_rank();
    Tensor* sizes;
    TF_RETURN_IF_ERROR(
        AllocateOutput(ctx, 0, known ? TensorShape({shape.dims()}) : TensorShape({}), &sizes));
    const int count = known ? shape.dims() : 1;
    for (int i = 0; i < count; ++i) {
      const int64_t size = known ? shape.dim_size(i) : -1;
      if (sizes->dtype() == tensorflow::DT_INT32) {
        sizes->flat<int32_t>()(i) = static_cast<int32_t>(size);
      } else {
        sizes->flat<int64_t>()(i) = size;
      }
    }
    return absl::OkStatus();
  }
};

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

// Reads input `input`, the scalar predicate of a conditional.
absl::Status GetPredicate(OpKernelContext* ctx, int input, bool* value) {
  const Tensor& predicate = ctx->input(input);
  if (predicate.dims() != 0) {
    return InvalidList("predicate must be a scalar but has shape ",
                       predicate.shape().DebugString());
  }
  *value = predicate.scalar<bool>()();
  return absl::OkStatus();
}

class GetItemOp : public Cheap<OneListKernel> {
 public:
  using Cheap::Cheap;

 protected:
  absl::Status RunOn(OpKernelContext* ctx, const InputList& list) override {
    TF_RETURN_IF_ERROR(CheckDtype(*list));
    int64_t index;
    TF_RETURN_IF_ERROR(GetInt(ctx, kIndex, "index", &index));
    ElementValue value;
    TF_RETURN_IF_ERROR(ReadElement(*list, index, ctx->input(kElementShape), &value));
    return OutputElement(ctx, 0, value);
  }

 private:
  enum Inputs { kList, kIndex, kElementShape };
};

class SetItemOp : public Cheap<OneListKernel> {
 public:
  explicit SetItemOp(OpKernelConstruction* ctx) : Cheap(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("resize_if_index_out_of_bounds", &grows_));
  }

 protected:
  absl::Status RunOn(OpKernelContext* ctx, const InputList& list) override {
    TF_RETURN_IF_ERROR(CheckDtype(*list));
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

class ResizeOp : public Cheap<OneListKernel> {
 public:
  using Cheap::Cheap;

 protected:
  absl::Status RunOn(OpKernelContext* ctx, const InputList& list) override {
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

 private:
  enum Inputs { kList, kSize };
};

class PushBackOp : public Cheap<OneListKernel> {
 public:
  using Cheap::Cheap;

 protected:
  absl::Status RunOn(OpKernelContext* ctx, const InputList& list) override {
    const Tensor& item = ctx->input(kTensor);
    const int64_t size = list->size();
    TF_RETURN_IF_ERROR(CheckPush(list->spec(), size, element_dtype_, item));
    ListVariant* out;
    TF_RETURN_IF_ERROR(ForwardList(ctx, kList, list, 0, &out));
    out->Resize(size + 1);
    out->Set(size, item);
    return absl::OkStatus();
  }

 private:
  enum Inputs { kList, kTensor };
};

class PopBackOp : public Cheap<OneListKernel> {
 public:
  using Cheap::Cheap;

 protected:
  absl::Status RunOn(OpKernelContext* ctx, const InputList& list) override {
    TF_RETURN_IF_ERROR(CheckDtype(*list));
    ElementValue value;
    TF_RETURN_IF_ERROR(ReadLast(*list, ctx->input(kElementShape), &value));
    TF_RETURN_IF_ERROR(OutputElement(ctx, kItem, value));
    ListVariant* out;
    TF_RETURN_IF_ERROR(ForwardList(ctx, kList, list, kShorter, &out));
    out->Resize(out->size() - 1);
    return absl::OkStatus();
  }

 private:
  enum Inputs { kList, kElementShape };
  enum Outputs { kShorter, kItem };
};

// Adds a list with one set element to another. Makes the checks of the TensorListReserve, the
// TensorListSetItem and the AddN that it replaces, in that order.
class AccumulateKernel : public Cheap<ListKernel> {
 public:
  using Cheap::Cheap;

 protected:
  enum Inputs { kList, kIndex, kItem, kFirstOfItsOwn };

  // Adds to the list in input kList a list of `size` elements of `shape`, of which only the element
  // at kIndex is set, to kItem.
  absl::Status Accumulate(OpKernelContext* ctx, PartialTensorShape shape, int64_t size) {
    int64_t index;
    TF_RETURN_IF_ERROR(GetInt(ctx, kIndex, "index", &index));
    const Tensor& item = ctx->input(kItem);
    TF_RETURN_IF_ERROR(CheckSet(shape, size, index, item));
    InputList list;
    TF_RETURN_IF_ERROR(GetList(ctx, kList, &list));
    TF_RETURN_IF_ERROR(list->CheckAddable({element_dtype_, shape, -1}, size, &shape));
    return Add(ctx, list, index, item, shape);
  }

 private:
  absl::Status Add(OpKernelContext* ctx, const InputList& list, int64_t index, const Tensor& item,
                   const PartialTensorShape& shape) {
    const ListElement before = list->Get(index);
    Tensor sum;
    if (before.kind == ListElement::kSet) {
      TF_RETURN_IF_ERROR(AddTensors(ctx, *before.tensor, item, &sum));
    } else {
      sum = item;
    }
    ListVariant* out;
    TF_RETURN_IF_ERROR(ForwardList(ctx, kList, list, 0, &out));
    out->BecomeSum(shape);
    out->Set(index, std::move(sum));
    return absl::OkStatus();
  }
};

// The added list has the element shape and the length in the inputs.
class ListAccumulateOp : public AccumulateKernel {
 public:
  using AccumulateKernel::AccumulateKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    PartialTensorShape shape;
    int64_t size;
    TF_RETURN_IF_ERROR(ReservedList(ctx, kElementShape, kNumElements, &shape, &size));
    return Accumulate(ctx, std::move(shape), size);
  }

 private:
  enum Inputs { kElementShape = kFirstOfItsOwn, kNumElements };
};

// The added list has the element shape and the length of the list in input kLike.
class ListAccumulateLikeOp : public AccumulateKernel {
 public:
  using AccumulateKernel::AccumulateKernel;

 protected:
  enum Inputs { kLike = kFirstOfItsOwn, kPredicate };

  absl::Status Run(OpKernelContext* ctx) override {
    InputList like;
    TF_RETURN_IF_ERROR(GetList(ctx, kLike, &like));
    return Accumulate(ctx, like->shape(), like->size());
  }
};

// Adds a list as ListAccumulateLikeOp does if the predicate is `wanted_`, and zeros otherwise.
class ListAccumulateIfOp : public ListAccumulateLikeOp {
 public:
  explicit ListAccumulateIfOp(OpKernelConstruction* ctx) : ListAccumulateLikeOp(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("wanted", &wanted_));
  }

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    bool predicate = false;
    TF_RETURN_IF_ERROR(GetPredicate(ctx, kPredicate, &predicate));
    return predicate == wanted_ ? ListAccumulateLikeOp::Run(ctx) : AddZeros(ctx);
  }

 private:
  bool wanted_ = true;

  // Adds a list of zeros like that in kLike, with the checks and the result of ZerosLike and AddN.
  absl::Status AddZeros(OpKernelContext* ctx) {
    InputList list, like;
    TF_RETURN_IF_ERROR(GetList(ctx, kList, &list));
    TF_RETURN_IF_ERROR(GetList(ctx, kLike, &like));
    ListVariant zeros;
    TF_RETURN_IF_ERROR(ListVariant::ZerosLike(*like, &zeros));
    PartialTensorShape shape;
    TF_RETURN_IF_ERROR(list->CheckAddable(zeros.spec(), zeros.size(), &shape));
    ListVariant* out;
    TF_RETURN_IF_ERROR(ForwardList(ctx, kList, list, 0, &out));
    out->BecomeSum(shape);
    return out->AddZeros(zeros);
  }
};

}  // namespace

KernelTable ListAccessKernels() {
  return {
      {"EmptyTensorList", MakeKernel<EmptyListOp>, {"element_shape", "max_num_elements"}},
      {"TensorListReserve", MakeKernel<ReserveOp>, {"element_shape", "num_elements"}},
      {"TensorListLength", MakeKernel<LengthOp>, {"length"}},
      {"TensorListElementShape", MakeKernel<ElementShapeOp>, {"element_shape"}},
      {"TensorListGetItem", MakeKernel<GetItemOp>, {"index", "element_shape"}, GpuElements()},
      {"TensorListSetItem", MakeKernel<SetItemOp>, {"index"}, GpuElements()},
      {"TensorListResize", MakeKernel<ResizeOp>, {"size"}},
      {"TensorListPushBack", MakeKernel<PushBackOp>, {}},
      {"TensorListPopBack",
       MakeKernel<PopBackOp>,
       {"element_shape"},
       GpuElements({tensorflow::DT_VARIANT})},
      {"TensorArrayGrad>ListAccumulate",
       MakeKernel<ListAccumulateOp>,
       {"index", "element_shape", "num_elements"},
       GpuElements(),
       KernelSpec::kCpuAndGpu,
       /*needs_our_lists=*/true},
      {"TensorArrayGrad>ListAccumulateLike",
       MakeKernel<ListAccumulateLikeOp>,
       {"index"},
       GpuElements(),
       KernelSpec::kCpuAndGpu,
       /*needs_our_lists=*/true},
      {"TensorArrayGrad>ListAccumulateIf",
       MakeKernel<ListAccumulateIfOp>,
       {"index", "predicate"},
       GpuElements(),
       KernelSpec::kCpuAndGpu,
       /*needs_our_lists=*/true},
  };
}

}  // namespace tensor_array_grad
