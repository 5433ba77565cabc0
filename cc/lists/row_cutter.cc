#include "cc/lists/row_cutter.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/allocator.h"

namespace tensor_array_grad {

absl::Status RowCutter::Start(const Tensor& tensor,
                              std::optional<absl::Span<const int64_t>> lengths) {
  Tensor kept;
  TF_RETURN_IF_ERROR(KeepValues(tensor, ops_, &kept));
  if (!values_.CopyFrom(kept, TensorShape({tensor.NumElements()}))) {
    return absl::InternalError("a tensor that cannot be made a vector");
  }
  const bool plain = tensorflow::DataTypeCanUseMemcpy(tensor.dtype());
  if (!ops_.on_gpu() || !plain || tensor.NumElements() == 0) return absl::OkStatus();
  const int64_t row = tensor.NumElements() / tensor.dim_size(0);
  std::vector<int64_t> counts(lengths ? lengths->size() : tensor.dim_size(0), row);
  for (size_t i = 0; lengths && i < counts.size(); ++i) counts[i] *= (*lengths)[i];
  return Spread(counts);
}

// Copies the parts, of counts[i] values, to aligned places in a new tensor, unless all are aligned
// already.
absl::Status RowCutter::Spread(const std::vector<int64_t>& counts) {
  const int64_t grain = static_cast<int64_t>(tensorflow::Allocator::kAllocatorAlignment) /
                        tensorflow::DataTypeSize(values_.dtype());
  const auto gap = [grain](int64_t count) { return (grain - count % grain) % grain; };
  int64_t total = 0;
  for (const int64_t count : counts) total += count + gap(count);
  // Nothing follows the last part, so that it needs no gap.
  const bool dense = total - gap(counts.back()) == values_.NumElements();
  if (dense && values_.IsAligned()) return absl::OkStatus();
  std::vector<Piece> pieces;
  pieces.reserve(2 * counts.size());
  int64_t at = 0;
  for (const int64_t count : counts) {
    pieces.push_back({values_, at, count});
    pieces.push_back({Tensor(), 0, gap(count)});
    at += count;
  }
  Tensor spread;
  TF_RETURN_IF_ERROR(ops_.Allocate(values_.dtype(), TensorShape({total}), &spread));
  TF_RETURN_IF_ERROR(ops_.Pack(pieces, &spread));
  values_ = std::move(spread);
  grain_ = grain;
  return absl::OkStatus();
}

absl::Status RowCutter::Next(const TensorShape& shape, Tensor* out) {
  const int64_t count = shape.num_elements();
  if (count == 0) {
    *out = Tensor(values_.dtype(), shape);
    return absl::OkStatus();
  }
  Tensor view(values_.dtype());
  if (!view.CopyFrom(values_.Slice(at_, at_ + count), shape)) {
    return absl::InternalError(absl::StrCat("no part of shape ", shape.DebugString(), " at value ",
                                            at_, " of ", values_.NumElements()));
  }
  at_ = (at_ + count + grain_ - 1) / grain_ * grain_;
  if (view.IsAligned()) {
    *out = std::move(view);
    return absl::OkStatus();
  }
  TF_RETURN_IF_ERROR(ops_.Allocate(view.dtype(), shape, out));
  if (tensorflow::DataTypeCanUseMemcpy(view.dtype()) && !ops_.on_gpu()) {
    std::memcpy(out->data(), view.data(), view.TotalBytes());
    return absl::OkStatus();
  }
  return ops_.Pack({Piece{view, 0, count}}, out);
}

}  // namespace tensor_array_grad
