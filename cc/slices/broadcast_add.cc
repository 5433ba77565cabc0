#include "cc/slices/broadcast_add.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "cc/slices/slice_inputs.h"
#include "tensorflow/core/util/bcast.h"

namespace tensor_array_grad {
namespace {

using cpu::Box;
using tensorflow::BCast;

// The tensor that stock makes of `gradient`. TakeRows leaves -0 in its rows, so that the value of
// a row is exactly what AddRows adds.
absl::Status Dense(const SliceGradient& gradient, cpu::ParallelFor parallel_for, Tensor* dense) {
  const Tensor& values = gradient.values;
  Tensor taken;
  TF_RETURN_IF_ERROR(AllocateValues(values.dtype(), gradient.whole, dense));
  TF_RETURN_IF_ERROR(AllocateValues(values.dtype(), values.shape(), &taken));
  cpu::Zero(parallel_for, dense);
  cpu::TakeRows(gradient.box, gradient.starts, parallel_for, dense, &taken);
  cpu::AddRows(values, gradient.box, gradient.starts, parallel_for, dense, gradient.from_zero);
  return absl::OkStatus();
}

// Copies a tensor of `sizes` from `from` to *to, and advances *to past it. `steps` and `bytes`, the
// size of a value, are in bytes; a dimension whose step is 0 repeats one value.
void Copy(const char* from, absl::Span<const int64_t> sizes, absl::Span<const int64_t> steps,
          size_t bytes, char** to) {
  if (sizes.empty()) {
    std::memcpy(*to, from, bytes);
    *to += bytes;
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i) {
    Copy(from + i * steps[0], sizes.subspan(1), steps.subspan(1), bytes, to);
  }
}

// Sets `repeated` to `from`, broadcast to `shape`.
absl::Status Repeat(const Tensor& from, const TensorShape& shape, Tensor* repeated) {
  TF_RETURN_IF_ERROR(AllocateValues(from.dtype(), shape, repeated));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const auto bytes = tensorflow::DataTypeSize(from.dtype());
  const Box::Sizes own = StepsOf(from.shape());
  Box::Sizes steps(shape.dims(), 0);
  const int added = shape.dims() - from.dims();
  for (int d = 0; d < from.dims(); ++d) {
    if (from.dim_size(d) != 1) steps[added + d] = own[d] * bytes;
  }
  auto* to = DataOf<char>(repeated);
  Copy(DataOf<char>(from), shape.dim_sizes(), steps, bytes, &to);
  return absl::OkStatus();
}

}  // namespace

absl::Status DenseSum(absl::Span<const SliceGradient> terms, cpu::ParallelFor parallel_for,
                      Tensor* sum) {
  TF_RETURN_IF_ERROR(Dense(terms.front(), parallel_for, sum));
  for (const SliceGradient& term : terms.subspan(1)) {
    Tensor addend;
    TF_RETURN_IF_ERROR(Dense(term, parallel_for, &addend));
    cpu::Add(*sum, addend, parallel_for, sum);
  }
  return absl::OkStatus();
}

absl::Status BroadcastAdd(const Tensor& left, const Tensor& right, cpu::ParallelFor parallel_for,
                          Tensor* sum) {
  const BCast broadcast(BCast::FromShape(left.shape()), BCast::FromShape(right.shape()));
  if (!broadcast.IsValid()) {
    return Invalid("Incompatible shapes: ", left.shape().DebugString(), " vs. ",
                   right.shape().DebugString());
  }
  constexpr size_t kMostDims = 9;  // after BCast has joined dimensions
  if (broadcast.x_reshape().size() > kMostDims) {
    return absl::UnimplementedError(absl::StrCat("Broadcast between ", left.shape().DebugString(),
                                                 " and ", right.shape().DebugString(),
                                                 " is not supported yet."));
  }
  TensorShape shape;
  TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(broadcast.output_shape(), &shape));
  Tensor repeated;
  TF_RETURN_IF_ERROR(Repeat(left, shape, sum));
  TF_RETURN_IF_ERROR(Repeat(right, shape, &repeated));
  cpu::Add(*sum, repeated, parallel_for, sum);
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
