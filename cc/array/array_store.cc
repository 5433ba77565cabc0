#include "cc/array/array_store.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "cc/array/bulk_read.h"
#include "cc/array/bulk_write.h"
#include "cc/array/element_access.h"
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

// ---- one call -----------------------------------------------------------------------------------

absl::Status ArrayStore::Run(SlotAccess& access, ElementOps& ops) {
  const absl::Cleanup after_failure = [this, &access] {
    if (!access.has_lease()) return;
    MutexLock lock(&mu_);
    EndLease(access);
  };
  for (;;) {
    {
      MutexLock lock(&mu_);
      EndLease(access);
      SlotAccess::Next next;
      for (;;) {
        TF_RETURN_IF_ERROR(access.Look(&table_, &next));
        if (next != SlotAccess::Next::kWait) break;
        idle_.Wait(&mu_);
      }
      if (next == SlotAccess::Next::kCommit) {
        access.Commit(&table_);
        return absl::OkStatus();
      }
    }
    TF_RETURN_IF_ERROR(access.Compute(ops));
  }
}

void ArrayStore::EndLease(SlotAccess& access) {
  if (!access.has_lease()) return;
  access.EndLease(&table_);
  idle_.SignalAll();
}

absl::Status ArrayStore::Read(int64_t index, ElementOps& ops, Tensor* value) {
  ElementRead read(index);
  TF_RETURN_IF_ERROR(Run(read, ops));
  *value = read.TakeValue();
  return absl::OkStatus();
}

absl::Status ArrayStore::Gather(absl::Span<const int32_t> indices,
                                const PartialTensorShape& element_shape, ElementOps& ops,
                                Tensor* value) {
  GatherRead read(indices, element_shape);
  TF_RETURN_IF_ERROR(Run(read, ops));
  *value = read.TakeValue();
  return absl::OkStatus();
}

absl::Status ArrayStore::Concat(const PartialTensorShape& element_shape_except0, ElementOps& ops,
                                Tensor* value, std::vector<int64_t>* lengths) {
  ConcatRead read(element_shape_except0);
  TF_RETURN_IF_ERROR(Run(read, ops));
  *value = read.TakeValue();
  *lengths = read.TakeLengths();
  return absl::OkStatus();
}

absl::Status ArrayStore::Write(int64_t index, Tensor value, bool exclusive, ElementOps& ops) {
  ElementWrite write(index, std::move(value), exclusive);
  return Run(write, ops);
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
  TensorShape row = value.shape();
  if (!row.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name(), "A row");
  Tensor kept;
  TF_RETURN_IF_ERROR(KeepValues(value, ops, &kept));
  ScatterWrite write(std::move(kept), indices, options_.shapes.get());
  return Run(write, ops);
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
  TensorShape row = value.shape();
  if (!row.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name(), "A piece");
  Tensor kept;
  TF_RETURN_IF_ERROR(KeepValues(value, ops, &kept));
  SplitWrite write(std::move(kept), std::move(starts), options_.shapes.get());
  return Run(write, ops);
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
  SlotContents contents(dtype());  // freed after the lock is released: elements may own resources
  MutexLock lock(&mu_);
  closed_.store(true, std::memory_order_release);
  table_.Close(&contents);
  idle_.SignalAll();
}

absl::Status ArrayStore::Freeze(const TensorShape& prefix, ArrayOptions* gradient) {
  MutexLock lock(&mu_);
  return table_.Freeze(prefix, gradient);
}

}  // namespace tensor_array_grad
