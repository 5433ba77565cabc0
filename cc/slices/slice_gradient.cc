#include "cc/slices/slice_gradient.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "cc/base/pooled_tensor.h"
#include "cc/slices/basic_slice.h"
#include "cc/slices/slice_inputs.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tensorflow/core/util/strided_slice_op.h"

namespace tensor_array_grad {
namespace {

using cpu::Box;
using Inputs = absl::Span<const Tensor* const>;

// ---- StridedSliceGrad: one row, whose box has the dimensions of the whole tensor

enum { kShape, kBegin, kEnd, kStrides, kDy };  // inputs

// Reads the gradient of a slice that BasicSlice can read. Returns false for any other slice, and if
// dy does not have the shape of the slice.
bool ReadBasicSlice(const SliceMasks& masks, Inputs inputs, SliceGradient* gradient) {
  const TensorShape& whole = gradient->whole;
  BasicSlice slice;
  if (!slice.Read(whole, *inputs[kBegin], *inputs[kEnd], *inputs[kStrides], masks) ||
      slice.ShapeOfResult() != inputs[kDy]->shape()) {
    return false;
  }
  Box& box = gradient->box;
  box.sizes.assign(slice.size, slice.size + slice.dims);
  box.steps = StepsOf(whole);
  int64_t first = 0;
  for (int d = 0; d < slice.dims; ++d) first += slice.begin[d] * box.steps[d];
  gradient->starts.push_back(first);
  return true;
}

absl::Status ReadStridedSlice(const SliceGradientOp& op, Inputs inputs, SliceGradient* gradient) {
  const Tensor &shape = *inputs[kShape], &dy = *inputs[kDy];
  if (shape.dims() != 1) {
    return Invalid("shape must be 1-D, got shape.shape = ", shape.shape().DebugString());
  }
  TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(shape, &gradient->whole));
  gradient->values = dy;
  if (ReadBasicSlice(op.masks, inputs, gradient)) return absl::OkStatus();
  TensorShape part, slice;  // of the slice with all dimensions of the whole, and with those of dy
  bool unused;
  Box::Sizes begin, end, strides;
  const SliceMasks& masks = op.masks;
  TF_RETURN_IF_ERROR(tensorflow::ValidateStridedSliceOp(
      inputs[kBegin], inputs[kEnd], *inputs[kStrides], gradient->whole, masks.begin, masks.end,
      masks.ellipsis, masks.new_axis, masks.shrink_axis, &part, &slice, &unused, &unused, &unused,
      &begin, &end, &strides));
  if (slice != dy.shape()) {
    return Invalid("shape of dy was ", dy.shape().DebugString(), " instead of ",
                   slice.DebugString());
  }
  Box& box = gradient->box;
  box = {part.dim_sizes(), StepsOf(gradient->whole)};
  int64_t first = 0;
  for (size_t d = 0; d < box.steps.size(); ++d) {
    first += begin[d] * box.steps[d];
    box.steps[d] *= strides[d];
  }
  gradient->starts.push_back(first);
  return absl::OkStatus();
}

// ---- Pad: one row, the input, which begins after the padding in front

absl::Status ReadPad(Inputs inputs, SliceGradient* gradient) {
  const Tensor &values = *inputs[0], &paddings = *inputs[1];
  if (paddings.dims() != 2 || paddings.dim_size(1) != 2) {
    return Invalid("paddings must be a matrix with 2 columns: ", paddings.shape().DebugString());
  }
  if (paddings.dim_size(0) != values.dims()) {
    return Invalid("The first dimension of paddings must be the rank of inputs",
                   paddings.shape().DebugString(), " ", values.shape().DebugString());
  }
  constexpr int kMostDims = 8;
  if (values.dims() > kMostDims) {
    return absl::UnimplementedError(
        absl::StrCat("inputs rank not in [0,", kMostDims, "]: ", values.dims()));
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (int d = 0; d < values.dims(); ++d) {
    const int64_t at = int64_t{2} * d;
    const int64_t before = IntAt(paddings, at), after = IntAt(paddings, at + 1);
    if (before < 0 || after < 0) {
      return Invalid("Paddings must be non-negative: ", before, " ", after);
    }
    if (before > kMost - values.dim_size(d) || after > kMost - values.dim_size(d) - before) {
      return Invalid("Paddings are too large: ", before, " ", after);
    }
    TF_RETURN_IF_ERROR(gradient->whole.AddDimWithStatus(before + values.dim_size(d) + after));
  }
  gradient->values = values;
  gradient->box = {values.shape().dim_sizes(), StepsOf(gradient->whole)};
  int64_t first = 0;
  for (int d = 0; d < values.dims(); ++d) {
    first += IntAt(paddings, int64_t{2} * d) * gradient->box.steps[d];
  }
  gradient->starts.push_back(first);
  return absl::OkStatus();
}

// ---- Fill of zeros: no row

absl::Status ReadFill(Inputs inputs, SliceGradient* gradient) {
  const Tensor &sizes = *inputs[0], &value = *inputs[1];
  if (sizes.dims() != 1) {
    return Invalid("dims must represent a vector, got shape ", sizes.shape().DebugString());
  }
  gradient->values = Tensor(value.dtype(), TensorShape({0}));
  return tensorflow::tensor::MakeShape(sizes, &gradient->whole);
}

// ---- dtypes, which the graph does not check: the ops take inputs of any dtype

absl::Status RequireDtypes(const SliceGradientOp& op, Inputs inputs) {
  const DataType values = inputs[op.values]->dtype();
  if (!CanAdd(values)) {
    return Invalid("Gradients of slices cannot be of ", DataTypeString(values));
  }
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    const DataType dtype = inputs[i]->dtype();
    // All integer inputs of StridedSliceGrad have one dtype.
    const bool alike = op.kind != SliceGradientOp::kStridedSlice || dtype == inputs[0]->dtype();
    const bool ids = op.kind == SliceGradientOp::kSegmentSum && i == 1;
    const bool is_int =
        dtype == DT_INT32 || dtype == DT_INT64 || (ids && dtype == tensorflow::DT_INT16);
    if (i != op.values && (!is_int || !alike)) {
      return Invalid("Input ", i, " of the gradient of a slice cannot be of ",
                     DataTypeString(dtype));
    }
  }
  return absl::OkStatus();
}

// ---- one line

// Reads the gradient of a slice whose positions follow each other: the slice has size one in each
// of the first dimensions, is a range of the next one, and contains the later ones completely. Null
// for any other slice.
const Tensor* ReadLineOfSlice(const SliceMasks& masks, Inputs inputs, const TensorShape& whole,
                              int64_t* first) {
  const Tensor& dy = *inputs[kDy];
  BasicSlice slice;
  if (!IsShape(*inputs[kShape], whole) ||
      !slice.Read(whole, *inputs[kBegin], *inputs[kEnd], *inputs[kStrides], masks) ||
      slice.ShapeOfResult() != dy.shape()) {
    return nullptr;
  }
  *first = 0;
  int64_t step = 1;
  bool inside = true;  // the dimensions after d are whole
  for (int d = slice.dims - 1; d >= 0; --d) {
    if (!inside && slice.size[d] != 1) return nullptr;
    inside = inside && slice.IsWhole(d, whole);
    *first += slice.begin[d] * step;
    step *= whole.dim_size(d);
  }
  return &dy;
}

}  // namespace

absl::Status AllocateValues(DataType dtype, const TensorShape& shape, Tensor* values) {
  if (MakePooledTensor(dtype, shape, values)) return absl::OkStatus();
  *values = Tensor(dtype, shape);
  if (values->IsInitialized() || shape.num_elements() == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("out of memory for gradients of slices of shape ", shape.DebugString()));
}

absl::Status ReadSliceGradient(const SliceGradientOp& op, Inputs inputs, SliceGradient* gradient) {
  TF_RETURN_IF_ERROR(RequireDtypes(op, inputs));
  switch (op.kind) {
    case SliceGradientOp::kStridedSlice:
      return ReadStridedSlice(op, inputs, gradient);
    case SliceGradientOp::kPad:
      return ReadPad(inputs, gradient);
    case SliceGradientOp::kSegmentSum:
      return ReadSegmentSum(op, inputs, gradient);
    case SliceGradientOp::kScatter:
      return ReadScatter(inputs, gradient);
    case SliceGradientOp::kFill:
      return ReadFill(inputs, gradient);
    default:
      gradient->whole = inputs[0]->shape();
      gradient->values = Tensor(inputs[0]->dtype(), TensorShape({0}));
      return absl::OkStatus();
  }
}

const Tensor* ReadOneLine(const SliceGradientOp& op, Inputs inputs, const TensorShape& whole,
                          int64_t* first) {
  if (!RequireDtypes(op, inputs).ok()) return nullptr;
  if (op.kind == SliceGradientOp::kStridedSlice) {
    return ReadLineOfSlice(op.masks, inputs, whole, first);
  }
  const bool moved = op.transposed || op.reshaped;
  return op.kind == SliceGradientOp::kSegmentSum && !moved ? ReadLineOfSegment(inputs, whole, first)
                                                           : nullptr;
}

}  // namespace tensor_array_grad
