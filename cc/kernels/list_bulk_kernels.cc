// The TensorList ops that read many elements at once, or change many lists.

#include <utility>
#include <vector>

#include "cc/core/element_ops.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DataTypeString;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::Variant;

// ---- reading --------------------------------------------------------------------------------

// Packs elements of one shape one after the other into one tensor.
class Packer {
 public:
  Packer(OpKernelContext* ctx, const TensorShape& element)
      : ctx_(ctx), element_(element), values_(element.num_elements()) {}

  absl::Status Add(const ListElement& element) {
    if (element.kind == ListElement::kUnset) {
      AddUnset(1);
      return absl::OkStatus();
    }
    if (element.tensor->shape() != element_) {
      return InvalidList("Incompatible shapes: an element is ",
                         element.tensor->shape().DebugString(), ", not ", element_.DebugString());
    }
    if (element.kind == ListElement::kSet) {
      pieces_.push_back({*element.tensor, 0, values_});
      return absl::OkStatus();
    }
    if (element.tensor->dtype() != tensorflow::DT_VARIANT) {
      AddUnset(1);
      return absl::OkStatus();
    }
    Tensor zeros;
    TF_RETURN_IF_ERROR(ZerosLikeTensor(ctx_, *element.tensor, &zeros));
    pieces_.push_back({std::move(zeros), 0, values_});
    return absl::OkStatus();
  }

  // Adds zeros for `count` elements. Consecutive zeros are one piece.
  void AddUnset(int64_t count) {
    if (count == 0) return;
    if (pieces_.empty() || !pieces_.back().zeros()) pieces_.push_back({});
    pieces_.back().count += count * values_;
  }

  absl::Status Pack(Tensor* out) { return DeviceElementOps(ctx_).Pack(pieces_, out); }

 private:
  OpKernelContext* const ctx_;
  const TensorShape element_;
  const int64_t values_;
  std::vector<Piece> pieces_;
};

// Sets `out` to [count] + element. InvalidArgument if a tensor cannot be that large.
absl::Status StackedShape(const TensorShape& element, int64_t count, TensorShape* out) {
  *out = element;
  if (out->InsertDimWithStatus(0, count).ok()) return absl::OkStatus();
  return InvalidList("The result would have too many dimensions, or more than 2**63 - 1 values: ",
                     count, " elements of shape ", element.DebugString());
}

class StackOp : public ListKernel {
 public:
  explicit StackOp(OpKernelConstruction* ctx) : ListKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("num_elements", &num_elements_));
  }

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    InputList list;
    TF_RETURN_IF_ERROR(GetList(ctx, kList, &list));
    TF_RETURN_IF_ERROR(CheckDtype(*list));
    if (num_elements_ != -1 && list->size() != num_elements_) {
      return InvalidList("Operation expected a list with ", num_elements_,
                         " elements but got a list with ", list->size(), " elements.");
    }
    TensorShape element, shape;
    TF_RETURN_IF_ERROR(ElementShape(ctx, *list, &element));
    TF_RETURN_IF_ERROR(StackedShape(element, list->size(), &shape));
    Tensor* out;
    TF_RETURN_IF_ERROR(ctx->allocate_output(0, shape, &out));
    return out->NumElements() == 0 ? absl::OkStatus() : Fill(ctx, *list, element, out);
  }

 private:
  enum Inputs { kList, kElementShape };

  absl::Status ElementShape(OpKernelContext* ctx, const ListVariant& list, TensorShape* shape) {
    PartialTensorShape partial;
    TF_RETURN_IF_ERROR(ElementShapeFromInput(ctx, list, kElementShape, &partial));
    if (!partial.IsFullyDefined() && list.size() == 0) {
      return InvalidList(
          "Tried to stack elements of an empty list with non-fully-defined "
          "element_shape: ",
          partial.DebugString());
    }
    ShapeMerger merger(partial);
    if (!list.shape().IsFullyDefined()) {
      TF_RETURN_IF_ERROR(
          list.ForEach([&](int64_t, const Tensor& value) { return merger.Add(value.shape()); }));
    }
    if (merger.shape().AsTensorShape(shape)) return absl::OkStatus();
    return InvalidList(
        "Tried to stack list which only contains uninitialized tensors and has a "
        "non-fully-defined element_shape: ",
        merger.shape().DebugString());
  }

  static absl::Status Fill(OpKernelContext* ctx, const ListVariant& list,
                           const TensorShape& element, Tensor* out) {
    Packer packer(ctx, element);
    int64_t next = 0;
    const auto gap = [&](int64_t end) {
      if (!list.has_zeros()) {
        packer.AddUnset(end - next);
        return absl::OkStatus();
      }
      for (; next < end; ++next) TF_RETURN_IF_ERROR(packer.Add(list.Get(next)));
      return absl::OkStatus();
    };
    TF_RETURN_IF_ERROR(list.ForEachSet([&](int64_t index, const Tensor& value) {
      TF_RETURN_IF_ERROR(gap(index));
      next = index + 1;
      return packer.Add({ListElement::kSet, &value});
    }));
    TF_RETURN_IF_ERROR(gap(list.size()));
    return packer.Pack(out);
  }

  int32_t num_elements_ = -1;
};

class GatherOp : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    InputList list;
    TF_RETURN_IF_ERROR(GetList(ctx, kList, &list));
    TF_RETURN_IF_ERROR(CheckDtype(*list));
    const Tensor& indices = ctx->input(kIndices);
    TensorShape element, shape;
    TF_RETURN_IF_ERROR(ElementShape(ctx, *list, indices, &element));
    TF_RETURN_IF_ERROR(StackedShape(element, indices.NumElements(), &shape));
    Tensor* out;
    TF_RETURN_IF_ERROR(ctx->allocate_output(0, shape, &out));
    if (out->NumElements() == 0) return absl::OkStatus();
    Packer packer(ctx, element);
    const auto flat = indices.flat<int32_t>();
    for (int64_t i = 0; i < flat.size(); ++i) {
      const int64_t index = flat(i);
      if (index < 0 || index >= list->size()) {
        return InvalidList("Index ", index, " out o range; list only has ", list->size(),
                           " elements.");
      }
      TF_RETURN_IF_ERROR(packer.Add(list->Get(index)));
    }
    return packer.Pack(out);
  }

 private:
  enum Inputs { kList, kIndices, kElementShape };

  absl::Status ElementShape(OpKernelContext* ctx, const ListVariant& list, const Tensor& indices,
                            TensorShape* shape) {
    PartialTensorShape partial;
    TF_RETURN_IF_ERROR(ElementShapeFromInput(ctx, list, kElementShape, &partial));
    if (!partial.IsFullyDefined() && indices.NumElements() == 0) {
      return InvalidList("Tried to gather 0-elements from a list with non-fully-defined shape: ",
                         partial.DebugString());
    }
    ShapeMerger merger(partial);
    const auto flat = indices.flat<int32_t>();
    for (int64_t i = 0; i < flat.size() && !list.shape().IsFullyDefined(); ++i) {
      if (flat(i) < 0 || flat(i) >= list.size()) {
        return InvalidList("Trying to gather element ", flat(i), " in a list with ", list.size(),
                           " elements.");
      }
      const ListElement element = list.Get(flat(i));
      if (element.tensor != nullptr) TF_RETURN_IF_ERROR(merger.Add(element.tensor->shape()));
    }
    if (merger.shape().AsTensorShape(shape)) return absl::OkStatus();
    return InvalidList(
        "Tried to gather uninitialized tensors from a list with non-fully-defined "
        "element_shape: ",
        merger.shape().DebugString());
  }
};

// ---- many lists -----------------------------------------------------------------------------

class PushBackBatchOp : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    const Tensor &lists = ctx->input(kLists), &tensor = ctx->input(kTensor);
    if (tensor.dims() == 0) {
      return InvalidList("Expected tensor to be at least a vector, but saw shape: ",
                         tensor.shape().DebugString());
    }
    if (lists.dims() != 1) {
      return InvalidList("Expected input_handles to be a vector, but saw shape: ",
                         lists.shape().DebugString());
    }
    const int64_t count = lists.NumElements();
    if (tensor.dim_size(0) != count) {
      return InvalidList("Expected tensor.shape[0] == input_handles.size, but saw ",
                         tensor.dim_size(0), " vs. ", count);
    }
    TensorShape row = tensor.shape();
    TF_RETURN_IF_ERROR(row.RemoveDimWithStatus(0));
    std::vector<InputList> inputs(count);
    for (int64_t i = 0; i < count; ++i) {
      TF_RETURN_IF_ERROR(Check(i, lists.vec<Variant>()(i), row, &inputs[i]));
    }
    return Push(ctx, inputs, tensor, row);
  }

 private:
  enum Inputs { kLists, kTensor };

  absl::Status Check(int64_t i, const Variant& variant, const TensorShape& row, InputList* list) {
    if (!list->Assign(variant)) {
      return InvalidList("Input handle at index ", i, " is not a list. Saw: '",
                         variant.DebugString(), "'");
    }
    if (!(*list)->shape().IsCompatibleWith(row)) {
      return InvalidList("Tried to append a tensor with incompatible shape to a list at index ", i,
                         ". Op element shape: ", row.DebugString(),
                         " list shape: ", (*list)->shape().DebugString());
    }
    if ((*list)->dtype() != element_dtype_) {
      return InvalidList("Invalid data type at index ", i, "; op elements ",
                         DataTypeString(element_dtype_), " but list elements ",
                         DataTypeString((*list)->dtype()));
    }
    return CheckSize((*list)->size() + 1);
  }

  static absl::Status Push(OpKernelContext* ctx, const std::vector<InputList>& inputs,
                           const Tensor& tensor, const TensorShape& row) {
    tensorflow::AllocatorAttributes on_host;
    on_host.set_on_host(true);
    Tensor* out;
    TF_RETURN_IF_ERROR(ctx->allocate_output(0, TensorShape({tensor.dim_size(0)}), &out, on_host));
    RowCutter rows;
    TF_RETURN_IF_ERROR(rows.Start(ctx, tensor));
    for (size_t i = 0; i < inputs.size(); ++i) {
      Tensor value;
      TF_RETURN_IF_ERROR(rows.Next(row, &value));
      ListVariant longer = *inputs[i];
      const int64_t size = longer.size();
      longer.Resize(size + 1);
      longer.Set(size, std::move(value));
      out->vec<Variant>()(static_cast<int64_t>(i)) = std::move(longer);
    }
    return absl::OkStatus();
  }
};

class ConcatListsOp : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    const Tensor &a = ctx->input(0), &b = ctx->input(1);
    if (a.shape() != b.shape()) {
      return InvalidList("Incompatible input TensorList tensor shapes: ", a.shape().DebugString(),
                         " vs. ", b.shape().DebugString());
    }
    tensorflow::AllocatorAttributes on_host;
    on_host.set_on_host(true);
    Tensor* out;
    TF_RETURN_IF_ERROR(ctx->allocate_output(0, a.shape(), &out, on_host));
    for (int64_t i = 0; i < a.NumElements(); ++i) {
      InputList first, second;
      TF_RETURN_IF_ERROR(Check("input_a", i, a.flat<Variant>()(i), &first));
      TF_RETURN_IF_ERROR(Check("input_b", i, b.flat<Variant>()(i), &second));
      if (!first->shape().IsIdenticalTo(second->shape())) {
        return InvalidList(
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

 private:
  absl::Status Check(absl::string_view name, int64_t i, const Variant& variant, InputList* list) {
    if (!list->Assign(variant)) {
      return InvalidList(name, " is not a TensorList at index ", i, ".  Saw: '",
                         variant.DebugString(), "'");
    }
    if ((*list)->dtype() == element_dtype_) return absl::OkStatus();
    return InvalidList(name, "[", i,
                       "].dtype != element_dtype.  Saw: ", DataTypeString((*list)->dtype()),
                       " vs. ", DataTypeString(element_dtype_));
  }
};

}  // namespace

KernelTable ListBulkKernels() {
  return {
      {"TensorListStack", MakeKernel<StackOp>, {"element_shape"}, GpuElements()},
      {"TensorListGather", MakeKernel<GatherOp>, {"indices", "element_shape"}, GpuElements()},
      {"TensorListPushBackBatch", MakeKernel<PushBackBatchOp>, {}, GpuElements()},
      {"TensorListConcatLists", MakeKernel<ConcatListsOp>, {}},
  };
}

}  // namespace tensor_array_grad
