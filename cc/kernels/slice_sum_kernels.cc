// The ops that SliceSumRule puts in the place of sums with gradients of slices: each adds to a part
// of a tensor what stock spreads over zeros of the tensor's size first.
//
// Values are equal in every bit to stock's. A row that a gather or scatter names several times is
// summed first, from zero, in the order of its updates, and then added, as stock does it.

#include <cstring>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cc/core/counters.h"
#include "cc/device/device_element_ops.h"
#include "cc/kernels/registration.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tensorflow/core/util/strided_slice_op.h"
#include "tensorflow/core/util/util.h"

namespace tensor_array_grad {
namespace {

using cpu::Box;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

Counter in_place("slice_sums.in_place"), copied_bytes("slice_sums.copied_bytes");

template <typename... Args>
absl::Status Invalid(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

// A number of an int32 or int64 tensor.
int64_t IntAt(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == tensorflow::DT_INT32 ? tensor.flat<int32_t>()(i)
                                                : tensor.flat<int64_t>()(i);
}

// How far apart the values of each dimension are in a tensor of these sizes.
Box::Sizes StepsOf(const Box::Sizes& sizes) {
  Box::Sizes steps(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    steps[d] = step;
    step *= sizes[d];
  }
  return steps;
}

Box::Sizes SizesOf(const TensorShape& shape) {
  const auto sizes = shape.dim_sizes();
  return Box::Sizes(sizes.begin(), sizes.end());
}

// A kernel whose output is its input 0 and what Run adds to a part of it.
class SliceSumKernel : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  bool IsExpensive() override { return false; }
  void Compute(OpKernelContext* ctx) override { OP_REQUIRES_OK(ctx, Run(ctx)); }

 protected:
  virtual absl::Status Run(OpKernelContext* ctx) = 0;

  // Makes output 0, which begins as input 0: in its buffer where nothing else holds that, else in a
  // copy. An error unless it has the shape of what stock would add.
  static absl::Status Begin(OpKernelContext* ctx, const TensorShape& addend, Tensor** sum) {
    const Tensor& before = ctx->input(0);
    if (before.shape() != addend) {
      return Invalid("Inputs to operation ", ctx->op_kernel().name(),
                     " of type AddN must have the same size and shape.  Input 0: ",
                     before.shape().DebugString(), " != input 1: ", addend.DebugString());
    }
    int forwarded = -1;
    TF_RETURN_IF_ERROR(ctx->forward_input_or_allocate_output({0}, 0, addend, sum, &forwarded));
    if (forwarded == 0) {
      in_place.Add();
    } else if (before.TotalBytes() > 0) {
      std::memcpy((*sum)->data(), before.data(), before.TotalBytes());
      copied_bytes.Add(static_cast<int64_t>(before.TotalBytes()));
    }
    return absl::OkStatus();
  }
};

class AddStridedSliceGradOp : public SliceSumKernel {
 public:
  explicit AddStridedSliceGradOp(OpKernelConstruction* ctx) : SliceSumKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("begin_mask", &begin_mask_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("end_mask", &end_mask_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("ellipsis_mask", &ellipsis_mask_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("new_axis_mask", &new_axis_mask_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("shrink_axis_mask", &shrink_axis_mask_));
  }

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    const Tensor& dy = ctx->input(kDy);
    if (ctx->input(kShape).dims() != 1) {
      return Invalid("shape must be 1-D, got shape.shape = ",
                     ctx->input(kShape).shape().DebugString());
    }
    TensorShape whole, part, slice;
    TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(ctx->input(kShape), &whole));
    Box box;
    TF_RETURN_IF_ERROR(BoxOf(ctx, whole, &slice, &box));
    if (slice != dy.shape()) {
      return Invalid("shape of dy was ", dy.shape().DebugString(), " instead of ",
                     slice.DebugString());
    }
    Tensor* sum;
    TF_RETURN_IF_ERROR(Begin(ctx, whole, &sum));
    DeviceElementOps(ctx).AddToBox(dy, 0, box, sum);
    return absl::OkStatus();
  }

 private:
  enum Inputs { kSum, kShape, kBegin, kEnd, kStrides, kDy };

  // Where the slice is in a tensor of shape `whole`, and its shape.
  absl::Status BoxOf(OpKernelContext* ctx, const TensorShape& whole, TensorShape* slice,
                     Box* box) const {
    TensorShape part;  // the slice with all dimensions of the whole
    bool unused;
    Box::Sizes begin, end, strides;
    TF_RETURN_IF_ERROR(tensorflow::ValidateStridedSliceOp(
        &ctx->input(kBegin), &ctx->input(kEnd), ctx->input(kStrides), whole, begin_mask_, end_mask_,
        ellipsis_mask_, new_axis_mask_, shrink_axis_mask_, &part, slice, &unused, &unused, &unused,
        &begin, &end, &strides));
    box->sizes = SizesOf(part);
    box->steps = StepsOf(SizesOf(whole));
    for (int d = 0; d < whole.dims(); ++d) {
      box->first += begin[d] * box->steps[d];
      box->steps[d] *= strides[d];
    }
    return absl::OkStatus();
  }

  int32_t begin_mask_ = 0, end_mask_ = 0, ellipsis_mask_ = 0, new_axis_mask_ = 0,
          shrink_axis_mask_ = 0;
};

class AddPadOp : public SliceSumKernel {
 public:
  using SliceSumKernel::SliceSumKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    const Tensor& values = ctx->input(kValues);
    const Tensor& paddings = ctx->input(kPaddings);
    if (paddings.dims() != 2 || paddings.dim_size(1) != 2) {
      return Invalid("paddings must be a matrix with 2 columns: ", paddings.shape().DebugString());
    }
    if (paddings.dim_size(0) != values.dims()) {
      return Invalid("The first dimension of paddings must be the rank of inputs",
                     paddings.shape().DebugString(), " ", values.shape().DebugString());
    }
    TensorShape whole;
    Box::Sizes before;
    for (int d = 0; d < values.dims(); ++d) {
      const int64_t left = IntAt(paddings, 2 * d), right = IntAt(paddings, 2 * d + 1);
      if (left < 0 || right < 0) {
        return Invalid("Paddings must be non-negative: ", left, " ", right);
      }
      before.push_back(left);
      TF_RETURN_IF_ERROR(whole.AddDimWithStatus(left + values.dim_size(d) + right));
    }
    Box box;
    box.sizes = SizesOf(values.shape());
    box.steps = StepsOf(SizesOf(whole));
    box.first = std::inner_product(before.begin(), before.end(), box.steps.begin(), int64_t{0});
    Tensor* sum;
    TF_RETURN_IF_ERROR(Begin(ctx, whole, &sum));
    DeviceElementOps(ctx).AddToBox(values, 0, box, sum);
    return absl::OkStatus();
  }

 private:
  enum Inputs { kSum, kValues, kPaddings };
};

// Rows of one shape that are added to parts of a sum: row i goes where `box` would be if it began
// at starts[i]. Those of a negative start are left out.
struct Rows {
  const Tensor* values;
  std::vector<int64_t> starts;
  Box box;

  int64_t width() const {
    return std::accumulate(box.sizes.begin(), box.sizes.end(), int64_t{1}, std::multiplies<>());
  }
};

// Adds the rows to `sum`, those of one start as their sum from zero.
absl::Status AddRows(OpKernelContext* ctx, const Rows& rows, Tensor* sum) {
  const int64_t width = rows.width();
  if (width == 0) return absl::OkStatus();
  absl::flat_hash_map<int64_t, int64_t> place;  // among the sums, by start
  std::vector<int64_t> starts;                  // of the sums
  for (const int64_t start : rows.starts) {
    if (start >= 0 && place.try_emplace(start, starts.size()).second) starts.push_back(start);
  }
  DeviceElementOps ops(ctx);
  Tensor sums;
  TF_RETURN_IF_ERROR(
      ops.Allocate(sum->dtype(), TensorShape({static_cast<int64_t>(starts.size()), width}), &sums));
  TF_RETURN_IF_ERROR(ops.Zero(&sums));
  for (size_t i = 0; i < rows.starts.size(); ++i) {
    if (rows.starts[i] < 0) continue;
    const Box row{place[rows.starts[i]] * width, {width}, {1}};
    ops.AddToBox(*rows.values, static_cast<int64_t>(i) * width, row, &sums);
  }
  Box box = rows.box;
  for (size_t i = 0; i < starts.size(); ++i) {
    box.first = starts[i];
    ops.AddToBox(sums, static_cast<int64_t>(i) * width, box, sum);
  }
  return absl::OkStatus();
}

class AddUnsortedSegmentSumOp : public SliceSumKernel {
 public:
  explicit AddUnsortedSegmentSumOp(OpKernelConstruction* ctx) : SliceSumKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("num_perms", &perms_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("num_shapes", &shapes_));
  }

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    TensorShape segments;  // what UnsortedSegmentSum gives
    TF_RETURN_IF_ERROR(SegmentsShape(ctx, &segments));
    Box::Sizes steps;
    TensorShape whole;
    TF_RETURN_IF_ERROR(Transpose(ctx, segments, &whole, &steps));
    TF_RETURN_IF_ERROR(Reshape(ctx, &whole));
    Rows rows{&ctx->input(kData), {}, {0, SizesOf(segments), steps}};
    rows.box.sizes.erase(rows.box.sizes.begin());
    rows.box.steps.erase(rows.box.steps.begin());
    TF_RETURN_IF_ERROR(Starts(ctx, segments.dim_size(0), steps[0], &rows.starts));
    Tensor* sum;
    TF_RETURN_IF_ERROR(Begin(ctx, whole, &sum));
    return AddRows(ctx, rows, sum);
  }

 private:
  enum Inputs { kSum, kData, kIds, kNumSegments, kFirstPerm };

  static absl::Status SegmentsShape(OpKernelContext* ctx, TensorShape* shape) {
    const Tensor &data = ctx->input(kData), &ids = ctx->input(kIds);
    const Tensor& count = ctx->input(kNumSegments);
    if (count.dims() != 0) {
      return Invalid("num_segments should be a scalar, not shape ", count.shape().DebugString());
    }
    if (!tensorflow::TensorShapeUtils::StartsWith(data.shape(), ids.shape())) {
      return Invalid("data.shape = ", data.shape().DebugString(),
                     " does not start with segment_ids.shape = ", ids.shape().DebugString());
    }
    if (IntAt(count, 0) < 0) {
      return Invalid("Input num_segments == ", IntAt(count, 0), " must not be negative.");
    }
    TF_RETURN_IF_ERROR(shape->AddDimWithStatus(IntAt(count, 0)));
    for (int d = ids.dims(); d < data.dims(); ++d) {
      TF_RETURN_IF_ERROR(shape->AddDimWithStatus(data.dim_size(d)));
    }
    return absl::OkStatus();
  }

  // The shape of the segments, transposed, and how far apart the values of each of their dimensions
  // are then.
  absl::Status Transpose(OpKernelContext* ctx, const TensorShape& segments, TensorShape* whole,
                         Box::Sizes* steps) const {
    const int rank = segments.dims();
    std::vector<int> perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    if (perms_ > 0) {
      const Tensor& wanted = ctx->input(kFirstPerm);
      std::vector<bool> seen(rank);
      if (wanted.dims() != 1 || wanted.NumElements() != rank) {
        return Invalid("transpose expects a vector of size ", rank,
                       ". But input(1) is a vector of size ", wanted.NumElements());
      }
      for (int d = 0; d < rank; ++d) {
        int from = wanted.vec<int32_t>()(d);
        if (from < 0) from += rank;
        if (from < 0 || from >= rank) return Invalid(from, " is out of range [0 .. ", rank, ")");
        if (seen[from]) return Invalid(from, " is twice in {", wanted.SummarizeValue(rank), "}.");
        seen[from] = true;
        perm[d] = from;
      }
    }
    for (int d = 0; d < rank; ++d) {
      TF_RETURN_IF_ERROR(whole->AddDimWithStatus(segments.dim_size(perm[d])));
    }
    const Box::Sizes after = StepsOf(SizesOf(*whole));
    steps->resize(rank);
    for (int d = 0; d < rank; ++d) (*steps)[perm[d]] = after[d];
    return absl::OkStatus();
  }

  // The values stay where they are.
  absl::Status Reshape(OpKernelContext* ctx, TensorShape* whole) const {
    if (shapes_ == 0) return absl::OkStatus();
    const Tensor& wanted = ctx->input(kFirstPerm + perms_);
    if (wanted.dims() != 1) {
      return Invalid("sizes input must be 1-D, not ", wanted.shape().DebugString());
    }
    Box::Sizes sizes;
    int64_t known = 1, unknown = -1;
    for (int64_t d = 0; d < wanted.NumElements(); ++d) {
      sizes.push_back(IntAt(wanted, d));
      if (sizes.back() < -1 || (sizes.back() == -1 && unknown >= 0)) {
        return Invalid("no shape: [", absl::StrJoin(sizes, ","), "..]");
      }
      if (sizes.back() == -1) {
        unknown = d;
      } else {
        known *= sizes.back();
      }
    }
    if (unknown >= 0 && known > 0) sizes[unknown] = whole->num_elements() / known;
    TensorShape shape;
    TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(sizes, &shape));
    if (shape.num_elements() != whole->num_elements()) {
      return Invalid("Input to reshape is a tensor with ", whole->num_elements(),
                     " values, but the requested shape has ", shape.num_elements());
    }
    *whole = std::move(shape);
    return absl::OkStatus();
  }

  static absl::Status Starts(OpKernelContext* ctx, int64_t segments, int64_t step,
                             std::vector<int64_t>* starts) {
    const Tensor& ids = ctx->input(kIds);
    if (ctx->input(kData).NumElements() == 0) return absl::OkStatus();
    for (int64_t i = 0; i < ids.NumElements(); ++i) {
      const int64_t id = IntAt(ids, i);
      if (id >= segments) {
        return Invalid("segment_ids", tensorflow::SliceDebugString(ids.shape(), i), " = ", id,
                       " is out of range [0, ", segments, ")");
      }
      starts->push_back(id < 0 ? -1 : id * step);
    }
    return absl::OkStatus();
  }

  int perms_ = 0, shapes_ = 0;
};

class AddScatterNdOp : public SliceSumKernel {
 public:
  using SliceSumKernel::SliceSumKernel;

 protected:
  absl::Status Run(OpKernelContext* ctx) override {
    const Tensor &indices = ctx->input(kIndices), &updates = ctx->input(kUpdates);
    if (ctx->input(kShape).dims() != 1) {
      return Invalid("Shape must be a vector, not ", ctx->input(kShape).shape().DebugString());
    }
    TensorShape whole;
    TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(ctx->input(kShape), &whole));
    const int depth =
        indices.dims() == 0 ? 1 : static_cast<int>(indices.dim_size(indices.dims() - 1));
    if (depth > whole.dims()) {
      return Invalid("Dimensions [0,", depth, ") of an index, but the shape is ",
                     whole.DebugString());
    }
    TensorShape expected = indices.shape();
    if (expected.dims() > 0) expected.RemoveLastDims(1);
    Rows rows{&updates, {}, {}};
    const Box::Sizes sizes = SizesOf(whole), steps = StepsOf(sizes);
    for (int d = depth; d < whole.dims(); ++d) {
      rows.box.sizes.push_back(sizes[d]);
      rows.box.steps.push_back(steps[d]);
      expected.AddDim(sizes[d]);
    }
    if (updates.shape() != expected) {
      return Invalid("updates have shape ", updates.shape().DebugString(), ", but indices ",
                     indices.shape().DebugString(), " into ", whole.DebugString(), " need ",
                     expected.DebugString());
    }
    TF_RETURN_IF_ERROR(Starts(indices, depth, whole, steps, &rows.starts));
    Tensor* sum;
    TF_RETURN_IF_ERROR(Begin(ctx, whole, &sum));
    return AddRows(ctx, rows, sum);
  }

 private:
  enum Inputs { kSum, kIndices, kUpdates, kShape };

  static absl::Status Starts(const Tensor& indices, int depth, const TensorShape& whole,
                             const Box::Sizes& steps, std::vector<int64_t>* starts) {
    TensorShape slices = indices.shape();
    if (slices.dims() > 0) slices.RemoveLastDims(1);
    for (int64_t i = 0; i < slices.num_elements(); ++i) {
      int64_t start = 0;
      bool inside = true;
      for (int d = 0; d < depth; ++d) {
        const int64_t index = IntAt(indices, i * depth + d);
        inside = inside && index >= 0 && index < whole.dim_size(d);
        start += index * steps[d];
      }
      if (!inside) return OutOfRange(indices, depth, slices, i, whole);
      starts->push_back(start);
    }
    return absl::OkStatus();
  }

  static absl::Status OutOfRange(const Tensor& indices, int depth, const TensorShape& slices,
                                 int64_t i, const TensorShape& whole) {
    std::vector<int64_t> index(depth);
    for (int d = 0; d < depth; ++d) index[d] = IntAt(indices, i * depth + d);
    return Invalid("indices", tensorflow::SliceDebugString(slices, i), " = [",
                   absl::StrJoin(index, ", "), "] does not index into shape ", whole.DebugString());
  }
};

}  // namespace

KernelTable SliceSumKernels() {
  const auto on_cpu = [](const char* op, tensorflow::OpKernel* (*create)(OpKernelConstruction*)) {
    return KernelSpec{op, create, {}, {}, /*on_gpu=*/false};
  };
  return {
      on_cpu("TensorArrayGrad>AddStridedSliceGrad", MakeKernel<AddStridedSliceGradOp>),
      on_cpu("TensorArrayGrad>AddPad", MakeKernel<AddPadOp>),
      on_cpu("TensorArrayGrad>AddUnsortedSegmentSum", MakeKernel<AddUnsortedSegmentSumOp>),
      on_cpu("TensorArrayGrad>AddScatterNd", MakeKernel<AddScatterNdOp>),
  };
}

}  // namespace tensor_array_grad
