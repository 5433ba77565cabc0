// The kernels of the ops that read many elements into one tensor: TensorListStack,
// TensorListGather, TensorListConcat and TensorListConcatV2. The rules for shapes and unset
// elements are in cc/lists/list_read.h. The kernels allocate the outputs and copy the pieces.

#include <cstdint>
#include <optional>
#include <vector>

#include "cc/device/device_element_ops.h"
#include "cc/kernels/list_kernel_util.h"
#include "cc/kernels/registration.h"
#include "cc/lists/element_shape.h"
#include "cc/lists/list_read.h"
#include "tensorflow/core/platform/mem.h"

namespace tensor_array_grad {
namespace {

// Makes output `output` a tensor of `shape` and fills it with the pieces that find(&pieces) sets,
// one after the other. Does not call `find` if the output has no elements.
template <typename Find>
absl::Status OutputPieces(OpKernelContext* ctx, int output, const TensorShape& shape, Find find) {
  Tensor* out;
  TF_RETURN_IF_ERROR(ctx->allocate_output(output, shape, &out));
  if (out->NumElements() == 0) return absl::OkStatus();
  std::vector<Piece> pieces;
  TF_RETURN_IF_ERROR(find(&pieces));
  return DeviceElementOps(ctx).Pack(pieces, out);
}

// ZerosLikeTensor with the context of a kernel call, as cc/lists/list_read.h needs it.
auto ZerosLikeIn(OpKernelContext* ctx) {
  return [ctx](const Tensor& like, Tensor* zeros) { return ZerosLikeTensor(ctx, like, zeros); };
}

class ListStackOp : public ListKernel {
 public:
  explicit ListStackOp(OpKernelConstruction* ctx) : ListKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("num_elements", &num_elements_));
  }

 protected:
  absl::Status ComputeCall(KernelCall& call) override {
    const ListVariant* list = nullptr;
    TF_RETURN_IF_ERROR(call.Get(kList, &list));
    TF_RETURN_IF_ERROR(CheckDtypes(call.dtype(), list->dtype()));
    TensorShape element, shape;
    TF_RETURN_IF_ERROR(ShapeToStack(*list, call.Input(kElementShape), num_elements_, &element));
    TF_RETURN_IF_ERROR(StackedShape(element, list->size(), &shape));
    return OutputPieces(call.ctx(), 0, shape, [&](std::vector<Piece>* pieces) {
      return PiecesToStack(*list, element, ZerosLikeIn(call.ctx()), pieces);
    });
  }

 private:
  enum Inputs { kList, kElementShape };

  int32_t num_elements_ = -1;
};

absl::Status GatherList(KernelCall& call, const ListVariant& list) {
  enum Inputs { kList, kIndices, kElementShape };
  TF_RETURN_IF_ERROR(CheckDtypes(call.dtype(), list.dtype()));
  const auto flat = call.Input(kIndices).flat<int32_t>();
  const absl::Span<const int32_t> indices(flat.data(), flat.size());
  TensorShape element, shape;
  TF_RETURN_IF_ERROR(ShapeToGather(list, call.Input(kElementShape), indices, &element));
  TF_RETURN_IF_ERROR(StackedShape(element, flat.size(), &shape));
  return OutputPieces(call.ctx(), 0, shape, [&](std::vector<Piece>* pieces) {
    return PiecesToGather(list, element, indices, ZerosLikeIn(call.ctx()), pieces);
  });
}

// TensorListConcat, which has an attribute for the shape, and TensorListConcatV2, which has inputs
// for it and for the lengths of unset elements.
class ListConcatOp : public ListKernel {
 public:
  explicit ListConcatOp(OpKernelConstruction* ctx) : ListKernel(ctx) {
    if (ctx->HasAttr("element_shape")) {
      OP_REQUIRES_OK(ctx, ctx->GetAttr("element_shape", &element_shape_));
    }
  }

 protected:
  absl::Status ComputeCall(KernelCall& call) override {
    PartialTensorShape wanted = element_shape_;
    if (!wanted.unknown_rank() && wanted.dims() == 0) {
      return Invalid("element_shape must not be empty");
    }
    const ListVariant* list = nullptr;
    TF_RETURN_IF_ERROR(call.Get(kList, &list));
    TF_RETURN_IF_ERROR(CheckDtypes(call.dtype(), list->dtype()));
    const bool is_v2 = call.num_inputs() > kElementShape;
    if (is_v2) TF_RETURN_IF_ERROR(MergedElementShape(*list, call.Input(kElementShape), &wanted));
    ConcatRows rows;
    TF_RETURN_IF_ERROR(ShapeToConcat(*list, wanted, is_v2, &rows));
    Tensor* lengths;
    TF_RETURN_IF_ERROR(AllocateLengths(call.ctx(), list->size(), &lengths));
    std::optional<absl::Span<const int64_t>> leading_dims;
    if (is_v2) {
      const auto flat = call.Input(kLeadingDims).flat<int64_t>();
      leading_dims.emplace(flat.data(), flat.size());
    }
    std::vector<Piece> pieces;
    TensorShape shape;
    TF_RETURN_IF_ERROR(PiecesToConcat(
        *list, rows, leading_dims, ZerosLikeIn(call.ctx()),
        {lengths->vec<int64_t>().data(), static_cast<size_t>(list->size())}, &shape, &pieces));
    return OutputPieces(call.ctx(), kTensor, shape, [&](std::vector<Piece>* all) {
      *all = std::move(pieces);
      return absl::OkStatus();
    });
  }

 private:
  enum Inputs { kList, kElementShape, kLeadingDims };
  enum Outputs { kTensor, kLengths };

  // A list takes memory only for set elements, but this op outputs a length for every element.
  static absl::Status AllocateLengths(OpKernelContext* ctx, int64_t count, Tensor** lengths) {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(int64_t));
    if (bytes > tensorflow::port::AvailableRam()) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "Concat of a list with ", count, " elements needs ", bytes, " bytes for their lengths."));
    }
    return ctx->allocate_output(kLengths, TensorShape({count}), lengths);
  }

  PartialTensorShape element_shape_;
};

}  // namespace

KernelTable ListReadKernels() {
  return {
      {ops::kTensorListStack, MakeKernel<ListStackOp>, {"element_shape"}, GpuElements()},
      {ops::kTensorListGather,
       MakeKernel<OneListFunction<GatherList>>,
       {"indices", "element_shape"},
       GpuElements()},
      {ops::kTensorListConcat, MakeKernel<ListConcatOp>, {"lengths"}, GpuElements()},
      {ops::kTensorListConcatV2,
       MakeKernel<ListConcatOp>,
       {"element_shape", "leading_dims", "lengths"},
       GpuElements()},
  };
}

}  // namespace tensor_array_grad
