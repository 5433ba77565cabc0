// TensorListConcat, TensorListConcatV2 and TensorListSplit: elements that differ in length.

#include <utility>
#include <vector>

#include "cc/core/element_ops.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "tensorflow/core/platform/mem.h"

namespace tensor_array_grad {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// Sets `rest` to `shape` without its first dimension. An error if that dimension is 0 and the
// product of the others overflows.
absl::Status WithoutFirst(const TensorShape& shape, TensorShape* rest) {
  *rest = shape;
  return rest->RemoveDimWithStatus(0);
}

// Finds the shape that all rows have, and the length of unset elements, which is that of the other
// elements if they all have the same one. A length of -1 is unknown.
class RowMerger {
 public:
  RowMerger(PartialTensorShape rest, int64_t first)
      : rest_(std::move(rest)), expected_(first), inferred_(first), infers_(first == -1) {}

  absl::Status Add(int64_t index, const TensorShape& element) {
    if (element.dims() == 0) {
      return InvalidList("Concat saw a scalar shape at index ", index,
                         " but requires at least vectors.");
    }
    TensorShape rest;
    TF_RETURN_IF_ERROR(WithoutFirst(element, &rest));
    TF_RETURN_IF_ERROR(rest_.Add(rest));
    const int64_t length = element.dim_size(0);
    if (expected_ != -1 && length != expected_) {
      return InvalidList(
          "First entry of element_shape input does not match the first dim of list "
          "element at index: ",
          index, " Expected: ", expected_, " Actual: ", length);
    }
    if (infers_ && inferred_ == -1) {
      inferred_ = length;
    } else if (infers_ && inferred_ != length) {
      inferred_ = -1;
      infers_ = false;
    }
    return absl::OkStatus();
  }

  const PartialTensorShape& rest() const { return rest_.shape(); }
  int64_t first() const { return inferred_; }

 private:
  ShapeMerger rest_;
  const int64_t expected_;
  int64_t inferred_;
  bool infers_;
};

// TensorListConcat, which has an attribute for the shape, and TensorListConcatV2, which has inputs
// for it and for the lengths of unset elements.
class ConcatOp : public ListKernel {
 public:
  explicit ConcatOp(OpKernelConstruction* ctx) : ListKernel(ctx) {
    if (ctx->HasAttr("element_shape")) {
      OP_REQUIRES_OK(ctx, ctx->GetAttr("element_shape", &element_shape_));
    }
  }

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    InputList list;
    PartialTensorShape rest;
    int64_t first = -1;
    TF_RETURN_IF_ERROR(ReadInputs(ctx, &list, &rest, &first));
    if (list->size() == 0 && !rest.IsFullyDefined()) {
      return InvalidList(
          "All except the first dimension must be fully defined when concating an "
          "empty tensor list. element_shape: ",
          rest.DebugString());
    }
    RowMerger merger(std::move(rest), first);
    if (!list->shape().IsFullyDefined()) {
      TF_RETURN_IF_ERROR(list->ForEach(
          [&](int64_t index, const Tensor& value) { return merger.Add(index, value.shape()); }));
    }
    TensorShape row;
    if (!merger.rest().AsTensorShape(&row)) {
      return InvalidList(
          "Trying to concat list with only uninitialized tensors but "
          "element_shape_except_first_dim is not fully defined: ",
          merger.rest().DebugString());
    }
    return Concat(ctx, *list, row, merger.first());
  }

 private:
  enum Inputs { kList, kElementShape, kLeadingDims };
  enum Outputs { kTensor, kLengths };

  // Sets `list` to the input list, `rest` to the element shape without its first dimension, and
  // `first` to that dimension, or -1 if it is unknown.
  absl::Status ReadInputs(OpKernelContext* ctx, InputList* list, PartialTensorShape* rest,
                          int64_t* first) {
    PartialTensorShape shape = element_shape_;
    if (!shape.unknown_rank() && shape.dims() == 0) {
      return InvalidList("element_shape must not be empty");
    }
    TF_RETURN_IF_ERROR(GetList(ctx, kList, list));
    TF_RETURN_IF_ERROR(CheckDtype(**list));
    if (ctx->num_inputs() > kElementShape) {
      TF_RETURN_IF_ERROR(ElementShapeFromInput(ctx, **list, kElementShape, &shape));
      if (!shape.unknown_rank() && shape.dims() == 0) {
        return InvalidList(
            "Concat requires elements to be at least vectors, found scalars instead.");
      }
      if (!shape.unknown_rank()) *first = shape.dim_size(0);
    }
    if (!shape.unknown_rank()) {
      *rest = shape;
      TF_RETURN_IF_ERROR(rest->RemoveDimWithStatus(0));
    }
    return absl::OkStatus();
  }

  absl::Status Concat(OpKernelContext* ctx, const ListVariant& list, const TensorShape& row,
                      int64_t first) {
    // A list takes memory only for set elements, but this op outputs a length for every element.
    const int64_t bytes = list.size() * static_cast<int64_t>(sizeof(int64_t));
    if (bytes > tensorflow::port::AvailableRam()) {
      return absl::ResourceExhaustedError(absl::StrCat("Concat of a list with ", list.size(),
                                                       " elements needs ", bytes,
                                                       " bytes for their lengths."));
    }
    Tensor* lengths;
    TF_RETURN_IF_ERROR(ctx->allocate_output(kLengths, TensorShape({list.size()}), &lengths));
    std::vector<Piece> pieces;
    int64_t total = 0;
    for (int64_t i = 0; i < list.size(); ++i) {
      const ListElement element = list.Get(i);
      int64_t length = 0;
      TF_RETURN_IF_ERROR(LengthOf(ctx, i, element, row, first, &length));
      if (__builtin_add_overflow(total, length, &total)) {
        return InvalidList("The lengths of the elements of the list are too large to be summed.");
      }
      lengths->vec<int64_t>()(i) = length;
      TF_RETURN_IF_ERROR(AddPiece(ctx, element, row, length, &pieces));
    }
    TensorShape shape = row;
    TF_RETURN_IF_ERROR(shape.InsertDimWithStatus(0, total));
    Tensor* out;
    TF_RETURN_IF_ERROR(ctx->allocate_output(kTensor, shape, &out));
    if (out->NumElements() == 0) return absl::OkStatus();
    return DeviceElementOps(ctx).Pack(pieces, out);
  }

  // Sets `length` to the number of rows of element `i`.
  static absl::Status LengthOf(OpKernelContext* ctx, int64_t i, const ListElement& element,
                               const TensorShape& row, int64_t first, int64_t* length) {
    if (element.kind != ListElement::kUnset) {
      const TensorShape& shape = element.tensor->shape();
      TensorShape rest;
      if (shape.dims() == 0 || !WithoutFirst(shape, &rest).ok() || rest != row) {
        return InvalidList("Concat saw shape ", shape.DebugString(), " at index ", i,
                           " but requires rows of shape ", row.DebugString());
      }
      *length = shape.dim_size(0);
      return absl::OkStatus();
    }
    const bool has_lengths = ctx->num_inputs() > kLeadingDims;
    const int64_t known = has_lengths ? ctx->input(kLeadingDims).NumElements() : 0;
    if (i >= known && first != -1) {
      *length = first;
      return absl::OkStatus();
    }
    if (!has_lengths) {
      return InvalidList(
          "Concating lists with uninitialized tensors is not supported in this version of "
          "TensorListConcat. Consider updating your GraphDef to run the newer version.");
    }
    if (i >= known) {
      return InvalidList("List contains uninitialized tensor at index ", i,
                         " but leading_dims has only ", known, " elements.");
    }
    *length = ctx->input(kLeadingDims).flat<int64_t>()(i);
    if (*length >= 0) return absl::OkStatus();
    return InvalidList("leading_dims must not be negative, but is ", *length, " at index ", i);
  }

  static absl::Status AddPiece(OpKernelContext* ctx, const ListElement& element,
                               const TensorShape& row, int64_t length, std::vector<Piece>* pieces) {
    if (element.kind == ListElement::kSet) {
      if (element.tensor->NumElements() > 0) {
        pieces->push_back({*element.tensor, 0, element.tensor->NumElements()});
      }
      return absl::OkStatus();
    }
    if (element.kind == ListElement::kZeros && element.tensor->dtype() == tensorflow::DT_VARIANT) {
      Tensor zeros;
      TF_RETURN_IF_ERROR(ZerosLikeTensor(ctx, *element.tensor, &zeros));
      pieces->push_back({zeros, 0, zeros.NumElements()});
      return absl::OkStatus();
    }
    TensorShape shape = row;
    TF_RETURN_IF_ERROR(shape.InsertDimWithStatus(0, length));  // the product may overflow
    if (shape.num_elements() == 0) return absl::OkStatus();
    if (pieces->empty() || !pieces->back().zeros()) pieces->push_back({});
    pieces->back().count += shape.num_elements();
    return absl::OkStatus();
  }

  PartialTensorShape element_shape_;
};

class SplitOp : public ListKernel {
 public:
  using ListKernel::ListKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    ListSpec spec;
    TF_RETURN_IF_ERROR(ReadSpec(ctx, &spec));
    const Tensor &tensor = ctx->input(kTensor), &lengths = ctx->input(kLengths);
    if (lengths.dims() != 1) {
      return InvalidList("Expected lengths to be a vector, received shape: ",
                         lengths.shape().DebugString());
    }
    TF_RETURN_IF_ERROR(CheckLengths(lengths, tensor.dim_size(0)));
    TF_RETURN_IF_ERROR(CheckSize(lengths.NumElements()));
    const auto rows = lengths.vec<int64_t>();
    RowCutter cutter;
    TF_RETURN_IF_ERROR(cutter.Start(ctx, tensor, &lengths));
    TensorShape shape = tensor.shape();
    auto next = [&](int64_t i, Tensor* out) {
      shape.set_dim(0, rows(i));
      return cutter.Next(shape, out);
    };
    PersistentList items;
    TF_RETURN_IF_ERROR(PersistentList::Build(lengths.NumElements(), next, &items));
    return OutputVariant(ctx, 0, ListVariant(std::move(spec), std::move(items)));
  }

 private:
  enum Inputs { kTensor, kElementShape, kLengths };

  static absl::Status ReadSpec(OpKernelContext* ctx, ListSpec* spec) {
    TF_RETURN_IF_ERROR(ShapeFromTensor(ctx->input(kElementShape), &spec->shape));
    const bool known = !spec->shape.unknown_rank();
    if (known && spec->shape.dims() == 0) {
      return InvalidList(
          "TensorListSplit requires element_shape to be at least of rank 1, but "
          "saw: ",
          spec->shape.DebugString());
    }
    const Tensor& tensor = ctx->input(kTensor);
    spec->dtype = tensor.dtype();
    if (tensor.dims() == 0) {
      return InvalidList("Tensor must be at least a vector, but saw shape: ",
                         tensor.shape().DebugString());
    }
    PartialTensorShape rest = spec->shape;
    if (known) TF_RETURN_IF_ERROR(rest.RemoveDimWithStatus(0));
    TensorShape row;
    TF_RETURN_IF_ERROR(WithoutFirst(tensor.shape(), &row));
    if (rest.IsCompatibleWith(row)) return absl::OkStatus();
    return InvalidList("tensor shape ", tensor.shape().DebugString(),
                       " is not compatible with element_shape ", spec->shape.DebugString());
  }

  static absl::Status CheckLengths(const Tensor& lengths, int64_t total) {
    int64_t start = 0;
    for (int64_t i = 0; i < lengths.NumElements(); ++i) {
      const int64_t length = lengths.vec<int64_t>()(i);
      if (length < 0) return InvalidList("Invalid value in lengths: ", length);
      if (length > total - start) {
        return InvalidList("Attempting to slice [", start, ", ",
                           static_cast<uint64_t>(start) + static_cast<uint64_t>(length),
                           "] from tensor with length ", total);
      }
      start += length;
    }
    if (start == total) return absl::OkStatus();
    return InvalidList("Unused values in tensor. Length of tensor: ", total,
                       " Values used: ", start);
  }
};

}  // namespace

KernelTable ListConcatKernels() {
  return {
      {"TensorListConcat", MakeKernel<ConcatOp>, {"lengths"}, GpuElements()},
      {"TensorListConcatV2",
       MakeKernel<ConcatOp>,
       {"element_shape", "leading_dims", "lengths"},
       GpuElements()},
      {"TensorListSplit", MakeKernel<SplitOp>, {"element_shape", "lengths"}, GpuElements()},
  };
}

}  // namespace tensor_array_grad
