#include "cc/array/array_store.h"

#include <algorithm>
#include <utility>

#include "cc/array/bulk_read.h"
#include "cc/array/bulk_write.h"
#include "cc/array/errors.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {
namespace {

ArrayOptions WithShapes(ArrayOptions options) {
  if (options.shapes == nullptr) options.shapes = std::make_shared<SlotShapes>();
  return options;
}

}  // namespace

ArrayStore::ArrayStore(ArrayOptions options)
    : options_(WithShapes(std::move(options))), table_(options_) {}

// ---- reads and writes ---------------------------------------------------------------------------

// In each of these functions, what is declared before `lock` is destroyed after it, and so is what
// a slot held.

absl::Status ArrayStore::Read(int64_t index, ElementOps& ops, Tensor* value) {
  Piece piece;
  Tensor made;
  MutexLock lock(&mu_);
  Element element;
  TF_RETURN_IF_ERROR(table_.Inspect(index, table_.element_shape(), &element));
  piece = element.piece();
  TF_RETURN_IF_ERROR(Materialize(piece, dtype(), element.shape, ops, &made));
  table_.CommitRead(index);
  std::swap(*value, made);
  return absl::OkStatus();
}

absl::Status ArrayStore::Write(int64_t index, Tensor value, bool exclusive, ElementOps& ops) {
  Tensor data, fresh;
  MutexLock lock(&mu_);
  bool sums;
  TF_RETURN_IF_ERROR(table_.CheckOpen());
  TF_RETURN_IF_ERROR(table_.CheckWriteIndex(index));
  TF_RETURN_IF_ERROR(table_.CheckElementShape(index, value.shape(), table_.element_shape()));
  TF_RETURN_IF_ERROR(table_.CheckSlot(index, value.shape(), &sums));
  table_.Make(index, std::max(table_.size(), index + 1));
  bool owned;
  data = table_.DataOf(index, &owned);
  if (!sums) {
    table_.RecordShape(index, value.shape());
    table_.Put(index, &value, exclusive);
    return absl::OkStatus();
  }
  if (owned) return ops.Add(data, value, &data);
  if (exclusive) {
    TF_RETURN_IF_ERROR(ops.Add(value, data, &value));
  } else {
    TF_RETURN_IF_ERROR(ops.Allocate(dtype(), value.shape(), &fresh));
    TF_RETURN_IF_ERROR(ops.Add(data, value, &fresh));
  }
  table_.Put(index, exclusive ? &value : &fresh, true);
  return absl::OkStatus();
}

absl::Status ArrayStore::Gather(absl::Span<const int32_t> indices,
                                const PartialTensorShape& element_shape, ElementOps& ops,
                                Tensor* value) {
  BulkRead read;
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(read.CheckGather(table_, indices, element_shape));
  TF_RETURN_IF_ERROR(read.Compute(dtype(), ops));
  read.Commit(&table_);
  std::swap(*value, read.value());
  return absl::OkStatus();
}

absl::Status ArrayStore::Concat(const PartialTensorShape& element_shape_except0, ElementOps& ops,
                                Tensor* value, std::vector<int64_t>* lengths) {
  BulkRead read;
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(read.CheckConcat(table_, element_shape_except0));
  TF_RETURN_IF_ERROR(read.Compute(dtype(), ops));
  read.Commit(&table_);
  std::swap(*value, read.value());
  *lengths = read.TakeLengths();
  return absl::OkStatus();
}

template <typename Parts>
absl::Status ArrayStore::WriteParts(const Tensor& value, absl::string_view part, Parts parts,
                                    ElementOps& ops) {
  TensorShape row = value.shape();
  if (!row.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name(), part);
  Tensor kept;
  TF_RETURN_IF_ERROR(KeepValues(value, ops, &kept));
  BulkWrite write(std::move(kept), std::move(parts));  // destroyed after `lock`
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(write.Check(&table_));
  TF_RETURN_IF_ERROR(write.Compute(ops));
  write.Commit(&table_);
  return absl::OkStatus();
}

absl::Status ArrayStore::Scatter(absl::Span<const int32_t> indices, const Tensor& value,
                                 ElementOps& ops) {
  if (value.dims() == 0) {
    return errors::Invalid(name(),
                           "Input value for unpack must be at least a vector but received shape: ",
                           value.shape().DebugString());
  }
  if (value.dim_size(0) >= kMaxSize) {
    return errors::Invalid(name(), "tensor dim0 too large to unpack: ", value.dim_size(0));
  }
  TF_RETURN_IF_ERROR(CheckOpen());
  if (const auto count = static_cast<int64_t>(indices.size()); count != value.dim_size(0)) {
    return errors::Invalid(name(), "Expected len(indices) == values.shape[0], but saw: ", count,
                           " vs. ", value.dim_size(0));
  }
  return WriteParts(value, "A row", indices, ops);
}

absl::Status ArrayStore::Split(const Tensor& value, absl::Span<const int64_t> lengths,
                               ElementOps& ops) {
  if (value.dims() == 0) {
    return errors::Invalid(name(), "Expected value to be at least a vector, but received shape: ",
                           value.shape().DebugString());
  }
  std::vector<int64_t> starts = {0};
  starts.reserve(lengths.size() + 1);
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) {
      return errors::Invalid(name(), "Expected lengths to be non-negative, but lengths[", i,
                             "] is ", lengths[i]);
    }
    int64_t end;
    if (__builtin_add_overflow(starts.back(), lengths[i], &end)) {
      return errors::ResultTooLarge(name(), "The value of these lengths");
    }
    starts.push_back(end);
  }
  if (starts.back() != value.dim_size(0)) {
    return errors::Invalid(
        name(), "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ",
        starts.back(), " and value's shape is: ", value.shape().DebugString());
  }
  if (const auto count = static_cast<int64_t>(lengths.size()); count > kMaxSize) {
    return errors::CannotGrow(name(), count - 1);
  }
  return WriteParts(value, "A piece", std::move(starts), ops);
}

// ---- the whole array ----------------------------------------------------------------------------

absl::Status ArrayStore::CheckWriteDtype(DataType got) const {
  if (got == dtype()) return absl::OkStatus();
  return errors::Invalid(name(), "TensorArray dtype is ", DataTypeString(dtype()),
                         " but Op is trying to write dtype ", DataTypeString(got), ".");
}

absl::Status ArrayStore::CheckReadDtype(DataType got) const {
  if (got == dtype()) return absl::OkStatus();
  return errors::Invalid(name(), "TensorArray dtype is ", DataTypeString(dtype()),
                         " but Op requested dtype ", DataTypeString(got), ".");
}

absl::Status ArrayStore::CheckOpen() const {
  return closed() ? errors::Closed(name()) : absl::OkStatus();
}

absl::Status ArrayStore::Size(int64_t* size) const {
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(table_.CheckOpen());
  *size = table_.size();
  return absl::OkStatus();
}

int64_t ArrayStore::size() const {
  MutexLock lock(&mu_);
  return table_.size();
}

int64_t ArrayStore::TotalBytes() const {
  MutexLock lock(&mu_);
  return table_.TotalBytes();
}

void ArrayStore::Close() {
  SlotContents contents(dtype());  // freed after the lock is released
  MutexLock lock(&mu_);
  closed_.store(true, std::memory_order_release);
  table_.Close(&contents);
}

absl::Status ArrayStore::Freeze(const TensorShape& prefix, ArrayOptions* gradient) {
  MutexLock lock(&mu_);
  return table_.Freeze(prefix, gradient);
}

}  // namespace tensor_array_grad
