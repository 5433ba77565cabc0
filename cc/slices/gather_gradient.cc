#include "cc/slices/slice_inputs.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tensorflow/core/util/overflow.h"
#include "tensorflow/core/util/util.h"

namespace tensor_array_grad {
namespace {

using cpu::Box;
using Inputs = absl::Span<const Tensor* const>;

// Makes the rows distinct: replaces rows with the same start by one row, their sum from zero in the
// order of the rows, and drops rows with a negative start. Stock sums in this order too, so that
// the rounding is the same. A single row is not copied: `from_zero` says that it has no -0.
absl::Status SumRowsOfOneStart(SliceGradient* gradient) {
  if (gradient->starts.size() == 1 && gradient->starts.front() >= 0) {
    gradient->from_zero = true;
    return absl::OkStatus();
  }
  std::unordered_map<int64_t, int64_t> row_of;  // by start: the number of the summed row
  decltype(gradient->starts) starts, firsts;    // of the summed rows; by row: its place in `sums`
  const int64_t width = gradient->box.values();
  for (const int64_t start : gradient->starts) {
    const auto [row, added] = row_of.emplace(start, starts.size());
    if (start >= 0 && added) starts.push_back(start);
    firsts.push_back(start < 0 ? -1 : row->second * width);
  }
  Tensor sums;
  TF_RETURN_IF_ERROR(AllocateValues(gradient->values.dtype(),
                                    {static_cast<int64_t>(starts.size()), width}, &sums));
  cpu::Zero(cpu::OnThisThread, &sums);
  cpu::AddRows(gradient->values, {{width}, {1}}, firsts, cpu::OnThisThread, &sums);
  gradient->values = std::move(sums);
  gradient->starts = std::move(starts);
  return absl::OkStatus();
}

// ---- UnsortedSegmentSum
//
// Row i is segment ids[i]: the id selects the first dimension of the output, and the box has the
// others. A Transpose of the output permutes shape and steps, and a Reshape changes only the shape.
// So neither moves a value.

enum { kData, kIds, kNumSegments, kFirstMove };

// The shape of the output: num_segments and the dimensions of data behind those of segment_ids.
absl::Status SegmentsShape(Inputs inputs, TensorShape* shape) {
  const Tensor &data = *inputs[kData], &ids = *inputs[kIds], &count = *inputs[kNumSegments];
  if (count.dims() != 0) {
    return Invalid("num_segments should be a scalar, not shape ", count.shape().DebugString());
  }
  if (!tensorflow::TensorShapeUtils::StartsWith(data.shape(), ids.shape())) {
    return Invalid("data.shape = ", data.shape().DebugString(),
                   " does not start with segment_ids.shape = ", ids.shape().DebugString());
  }
  const int64_t segments = IntAt(count, 0);
  if (segments < 0) return Invalid("Input num_segments == ", segments, " must not be negative.");
  TF_RETURN_IF_ERROR(shape->AddDimWithStatus(segments));
  for (int d = ids.dims(); d < data.dims(); ++d) {
    TF_RETURN_IF_ERROR(shape->AddDimWithStatus(data.dim_size(d)));
  }
  return absl::OkStatus();
}

// Reads `wanted` as the permutation of a Transpose of `rank` dimensions, which is perm->size().
absl::Status ReadPermutation(const Tensor& wanted, int rank, std::vector<int>* perm) {
  if (wanted.dims() != 1 || wanted.NumElements() != rank) {
    return Invalid("transpose expects a vector of size ", rank,
                   ". But input(1) is a vector of size ", wanted.NumElements());
  }
  std::vector<bool> seen(rank);
  for (int d = 0; d < rank; ++d) {
    const int64_t given = IntAt(wanted, d), from = given < 0 ? given + rank : given;
    if (from < 0 || from >= rank) return Invalid(given, " is out of range [0 .. ", rank, ")");
    if (seen[from]) return Invalid(from, " is twice in {", wanted.SummarizeValue(rank), "}.");
    seen[from] = true;
    (*perm)[d] = static_cast<int>(from);
  }
  return absl::OkStatus();
}

// Changes `shape` as a Reshape to `wanted` does.
absl::Status Reshape(const Tensor& wanted, TensorShape* shape) {
  if (wanted.dims() > 1) {
    return Invalid("sizes input must be 1-D, not ", wanted.shape().DebugString());
  }
  Box::Sizes sizes;
  int64_t known = 1, unknown = -1;  // product of the sizes > 0; the dimension of -1
  bool empty = false;
  for (int64_t d = 0; d < wanted.NumElements(); ++d) {
    const int64_t size = IntAt(wanted, d);
    if (size < -1) return Invalid("Size ", d, " must be non-negative, not ", size);
    if (size == -1 && unknown >= 0) {
      return Invalid("Only one input size may be -1, not both ", unknown, " and ", d);
    }
    if (size == -1) unknown = d;
    if (size > 0) known = tensorflow::MultiplyWithoutOverflow(known, size);
    if (known < 0) return Invalid("The requested shape has more than 2^63 - 1 values");
    empty = empty || size == 0;
    sizes.push_back(size);
  }
  if (unknown >= 0) {
    int64_t values = 1;
    for (const int64_t size : shape->dim_sizes()) {
      if (size > 0 || !empty) values *= size;
    }
    sizes[unknown] = values / known;
  }
  TensorShape made;
  TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(sizes, &made));
  if (made.num_elements() != shape->num_elements()) {
    return Invalid("Input to reshape is a tensor with ", shape->num_elements(),
                   " values, but the requested shape has ", made.num_elements());
  }
  *shape = std::move(made);
  return absl::OkStatus();
}

// Transposes `whole`, the shape before the Transpose. Sets (*steps)[d] to the distance, in the
// transposed tensor, of values that were neighbours in dimension d.
absl::Status Transpose(const Tensor& wanted, TensorShape* whole, Box::Sizes* steps) {
  const TensorShape segments = *whole;
  std::vector<int> perm(segments.dims());
  TF_RETURN_IF_ERROR(ReadPermutation(wanted, segments.dims(), &perm));
  whole->Clear();
  for (const int from : perm) TF_RETURN_IF_ERROR(whole->AddDimWithStatus(segments.dim_size(from)));
  const Box::Sizes steps_after = StepsOf(*whole);
  for (size_t d = 0; d < perm.size(); ++d) (*steps)[perm[d]] = steps_after[d];
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadSegmentSum(const SliceGradientOp& op, Inputs inputs, SliceGradient* gradient) {
  TensorShape& whole = gradient->whole;
  TF_RETURN_IF_ERROR(SegmentsShape(inputs, &whole));
  const Box::Sizes segments = whole.dim_sizes();
  Box::Sizes steps = StepsOf(whole);
  int move = kFirstMove;
  if (op.transposed) TF_RETURN_IF_ERROR(Transpose(*inputs[move++], &whole, &steps));
  // A Reshape moves no value in the flat tensor, so `steps` need not change.
  if (op.reshaped) TF_RETURN_IF_ERROR(Reshape(*inputs[move], &whole));
  gradient->values = *inputs[kData];
  gradient->box.sizes.assign(segments.begin() + 1, segments.end());
  gradient->box.steps.assign(steps.begin() + 1, steps.end());
  if (gradient->values.NumElements() == 0) return absl::OkStatus();
  const Tensor& ids = *inputs[kIds];
  for (int64_t i = 0; i < ids.NumElements(); ++i) {
    const int64_t id = IntAt(ids, i);
    if (id >= segments.front()) {
      return Invalid("segment_ids", tensorflow::SliceDebugString(ids.shape(), i), " = ", id,
                     " is out of range [0, ", segments.front(), ")");
    }
    gradient->starts.push_back(id < 0 ? -1 : id * steps[0]);
  }
  return SumRowsOfOneStart(gradient);
}

const Tensor* ReadLineOfSegment(Inputs inputs, const TensorShape& whole, int64_t* first) {
  const Tensor &data = *inputs[kData], &ids = *inputs[kIds], &count = *inputs[kNumSegments];
  if (ids.NumElements() != 1 || count.dims() != 0 || whole.dims() == 0 ||
      IntAt(count, 0) != whole.dim_size(0) || data.dims() != ids.dims() + whole.dims() - 1) {
    return nullptr;
  }
  int64_t width = 1;
  for (int d = 0; d < data.dims(); ++d) {
    const int behind = d - ids.dims() + 1;  // the dimension of `whole`
    if (data.dim_size(d) != (behind < 1 ? 1 : whole.dim_size(behind))) return nullptr;
    width *= data.dim_size(d);
  }
  const int64_t row = IntAt(ids, 0);
  *first = row * width;
  return row >= 0 && row < whole.dim_size(0) ? &data : nullptr;
}

// ---- ScatterNd: an index selects the first dimensions, and the box has the others

absl::Status ReadScatter(Inputs inputs, SliceGradient* gradient) {
  const Tensor &indices = *inputs[0], &updates = *inputs[1], &shape = *inputs[2];
  if (shape.dims() != 1) {
    return Invalid("Shape must be a vector, not ", shape.shape().DebugString());
  }
  TensorShape& whole = gradient->whole;
  TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(shape, &whole));
  if (indices.dims() < 1 || updates.dims() < 1) {
    return Invalid("Indices and updates must have rank at least one. Found: ",
                   indices.shape().DebugString(), " and ", updates.shape().DebugString());
  }
  const bool nothing = indices.NumElements() == 0 && updates.NumElements() == 0;
  if (!nothing && (whole.dims() == 0 || indices.NumElements() == 0 || updates.NumElements() == 0)) {
    return Invalid("Indices and updates specified for empty output shape");
  }
  TensorShape slices = indices.shape();  // one slice per index; in a vector each number is an index
  const int64_t depth = slices.dims() == 1 ? 1 : slices.dim_size(slices.dims() - 1);
  if (slices.dims() > 1) slices.RemoveLastDims(1);
  constexpr int kMostDepth = 7;
  if (depth < 1 || depth > std::min(kMostDepth, whole.dims())) {
    return Invalid("An index has ", depth, " numbers, but the shape is ", whole.DebugString(),
                   " and at most ", kMostDepth, " are supported");
  }
  const Box::Sizes sizes = whole.dim_sizes(), steps = StepsOf(whole);
  TensorShape expected = slices;
  for (int d = static_cast<int>(depth); d < whole.dims(); ++d) {
    gradient->box.sizes.push_back(sizes[d]);
    gradient->box.steps.push_back(steps[d]);
    TF_RETURN_IF_ERROR(expected.AddDimWithStatus(sizes[d]));
  }
  if (updates.shape() != expected) {
    return Invalid("updates have shape ", updates.shape().DebugString(), ", but indices ",
                   indices.shape().DebugString(), " into ", whole.DebugString(), " need ",
                   expected.DebugString());
  }
  gradient->values = updates;
  for (int64_t i = 0; i < slices.num_elements(); ++i) {
    int64_t start = 0;
    std::vector<int64_t> index(depth);
    bool inside = true;
    for (int64_t d = 0; d < depth; ++d) {
      index[d] = IntAt(indices, i * depth + d);
      inside = inside && index[d] >= 0 && index[d] < sizes[d];
      start += index[d] * steps[d];
    }
    if (!inside) {
      return Invalid("indices", tensorflow::SliceDebugString(slices, i), " = [",
                     absl::StrJoin(index, ", "), "] does not index into shape ",
                     whole.DebugString());
    }
    gradient->starts.push_back(start);
  }
  return SumRowsOfOneStart(gradient);
}

}  // namespace tensor_array_grad
