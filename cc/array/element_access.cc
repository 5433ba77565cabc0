#include "cc/array/element_access.h"

#include <algorithm>

#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {
namespace {

// *data += value. Works in the buffer of `data` if no other tensor shares it (`*exclusive`), else
// in the buffer of `value` if no other tensor shares that one (`value_exclusive`), else in a new
// buffer. On success `*exclusive` is true.
absl::Status SumUp(const Tensor& value, bool value_exclusive, ElementOps& ops, Tensor* data,
                   bool* exclusive) {
  if (*exclusive) return ops.Add(*data, value, data);
  Tensor sum = value;
  if (value_exclusive) {
    TF_RETURN_IF_ERROR(ops.Add(sum, *data, &sum));
  } else {
    sum = Tensor();
    TF_RETURN_IF_ERROR(ops.Allocate(data->dtype(), data->shape(), &sum));
    TF_RETURN_IF_ERROR(ops.Add(*data, value, &sum));
  }
  *data = std::move(sum);
  *exclusive = true;
  return absl::OkStatus();
}

}  // namespace

// ---- read -------------------------------------------------------------------------------------

absl::Status ElementRead::Look(SlotTable* table, Next* next) {
  if (table->IsBusy(index_)) {
    *next = Next::kWait;
    return absl::OkStatus();
  }
  *next = Next::kCommit;
  if (computed_ && table->version() == version_) return absl::OkStatus();
  Element element;
  TF_RETURN_IF_ERROR(table->Inspect(index_, table->element_shape(), &element));
  previous_ = std::exchange(piece_, element.piece());
  whole_ = !piece_.zeros() && element.count == piece_.source.NumElements() &&
           element.shape == piece_.source.shape() && piece_.source.IsAligned();
  if (whole_) return absl::OkStatus();
  table->Share(index_);
  const bool same_values = piece_.zeros() ? previous_.zeros()
                                          : piece_.begin == previous_.begin &&
                                                piece_.source.SharesBufferWith(previous_.source);
  if (computed_ && same_values && shape_ == element.shape) return absl::OkStatus();
  *next = Next::kCompute;
  dtype_ = table->options().dtype;
  shape_ = std::move(element.shape);
  version_ = table->version();
  return absl::OkStatus();
}

absl::Status ElementRead::Compute(ElementOps& ops) {
  previous_ = Piece();
  computed_ = true;
  return Materialize(piece_, dtype_, shape_, ops, &made_);
}

// ---- write ------------------------------------------------------------------------------------

absl::Status ElementWrite::Look(SlotTable* table, Next* next) {
  *next = Next::kCommit;
  if (computed_) return table->CheckOpen();
  if (table->IsBusy(index_)) {
    *next = Next::kWait;
    return absl::OkStatus();
  }
  const TensorShape& shape = value_.shape();
  TF_RETURN_IF_ERROR(table->CheckOpen());
  TF_RETURN_IF_ERROR(table->CheckWriteIndex(index_));
  TF_RETURN_IF_ERROR(table->CheckElementShape(index_, shape, table->element_shape()));
  TF_RETURN_IF_ERROR(table->CheckSlot(index_, shape, &sums_));
  table->Make(index_, std::max(table->size(), index_ + 1));
  if (!sums_) return absl::OkStatus();
  *next = Next::kCompute;
  data_ = table->DataOf(index_, &owned_);
  TakeLease(table);
  return absl::OkStatus();
}

absl::Status ElementWrite::Compute(ElementOps& ops) {
  computed_ = true;
  return SumUp(value_, exclusive_, ops, &data_, &owned_);
}

void ElementWrite::Commit(SlotTable* table) {
  if (sums_) {
    table->Put(index_, &data_, owned_);
  } else {
    table->RecordShape(index_, value_.shape());
    table->Put(index_, &value_, exclusive_);
  }
}

}  // namespace tensor_array_grad
