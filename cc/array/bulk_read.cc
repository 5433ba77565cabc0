#include "cc/array/bulk_read.h"

#include <algorithm>
#include <optional>
#include <string>

#include "cc/array/errors.h"
#include "cc/array/index_set.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/mem.h"

namespace tensor_array_grad {
namespace {

// Sets `shape` to the shape of `what`, which is `rows` times `row`.
absl::Status Stacked(const std::string& name, absl::string_view what, int64_t rows,
                     const TensorShape& row, TensorShape* shape) {
  *shape = row;
  if (shape->InsertDimWithStatus(0, rows).ok()) return absl::OkStatus();
  return errors::ResultTooLarge(name, what);
}

// Sets `shape` to that of a read of no slots. `attribute` and `doing` are for the message.
absl::Status ShapeOfNone(const std::string& name, absl::string_view attribute,
                         absl::string_view doing, const PartialTensorShape& known,
                         TensorShape* shape) {
  TensorShape element;
  if (!known.AsTensorShape(&element)) {
    return absl::UnimplementedError(
        absl::StrCat("TensorArray ", name, ": TensorArray has size zero, but ", attribute, " ",
                     known.DebugString(),
                     " is not fully defined. Currently only static shapes are supported when ",
                     doing, " zero-size TensorArrays."));
  }
  return Stacked(name, "An empty result", 0, element, shape);
}

}  // namespace

// ---- the steps after the check ------------------------------------------------------------------

absl::Status BulkRead::Compute(DataType dtype, ElementOps& ops) {
  if (pieces_.size() > 1) {
    TF_RETURN_IF_ERROR(ops.Allocate(dtype, shape_, &made_));
    return ops.Pack(pieces_, &made_);
  }
  const Piece all = pieces_.empty() ? Piece() : pieces_[0];
  Tensor whole;
  TF_RETURN_IF_ERROR(Materialize(all, dtype, shape_, ops, &whole));
  return KeepValues(whole, ops, &made_);
}

void BulkRead::Commit(SlotTable* table) {
  // First makes the slots that are missing, which read as zeros: only this step needs memory.
  int64_t size = table->size();
  for (int64_t i = 0; i < count_; ++i) {
    size = std::max(size, index(i) + 1);
    table->Make(index(i), size);
  }
  for (int64_t i = 0; i < count_; ++i) table->CommitRead(index(i));
  table->SetElementShape(std::move(element_shape_));
}

void BulkRead::Append(const Element& element, const Tensor** last_source) {
  if (element.count == 0) {
    if (element.source != nullptr) without_values_.push_back(*element.source);
    return;
  }
  const bool goes_on =
      !pieces_.empty() && *last_source == element.source &&
      (element.source == nullptr || pieces_.back().begin + pieces_.back().count == element.begin);
  if (goes_on) {
    pieces_.back().count += element.count;
  } else {
    pieces_.push_back(element.piece());
  }
  *last_source = element.source;
}

// ---- gather -----------------------------------------------------------------------------------

absl::Status BulkRead::CheckGather(const SlotTable& table, absl::Span<const int32_t> indices,
                                   const PartialTensorShape& attribute) {
  const std::string& name = table.options().name;
  TF_RETURN_IF_ERROR(table.element_shape().MergeWith(attribute, &element_shape_));
  indices_ = indices;
  count_ = static_cast<int64_t>(indices.size());
  if (count_ == 0) {
    PartialTensorShape known = element_shape_;
    const std::optional<TensorShape> common = table.options().shapes->Common(SlotShapes::kNow);
    if (!known.IsFullyDefined() && common.has_value() && !table.closed()) {
      TF_RETURN_IF_ERROR(element_shape_.MergeWith(*common, &known));
    }
    return ShapeOfNone(name, "element shape", "packing", known, &shape_);
  }
  IndexSet seen;
  Element element;
  TensorShape first;
  const Tensor* last_source = nullptr;
  for (int64_t i = 0; i < count_; ++i) {
    const int64_t index = indices_[i];
    TF_RETURN_IF_ERROR(table.Inspect(index, element_shape_, &element));
    if (table.options().clear_after_read && !seen.Insert(index)) {
      return errors::ReadTwice(name, index);
    }
    if (i == 0) {
      first = element.shape;
      if (!attribute.IsCompatibleWith(first)) {
        return errors::Invalid(
            name, "TensorArray was passed element_shape ", attribute.DebugString(),
            " which does not match the Tensor at index ", index, ": ", first.DebugString());
      }
    } else if (element.shape != first) {
      return errors::Invalid(
          name, "TensorArray has inconsistent shapes.  Index 0 has shape: ", first.DebugString(),
          " but index ", i, " has shape: ", element.shape.DebugString());
    }
    Append(element, &last_source);
  }
  return Stacked(name, "The gathered value", count_, first, &shape_);
}

// ---- concat -----------------------------------------------------------------------------------

absl::Status BulkRead::CheckConcat(const SlotTable& table, const PartialTensorShape& attribute) {
  const std::string& name = table.options().name;
  TF_RETURN_IF_ERROR(table.CheckOpen());
  element_shape_ = table.element_shape();
  count_ = table.joined_size();
  // Memory grows with the slots that were touched, and Concat touches all of them.
  const int64_t bytes = count_ * static_cast<int64_t>(sizeof(Slot) + sizeof(int64_t));
  if (bytes > tensorflow::port::AvailableRam()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("TensorArray ", name, ": no memory to concatenate ", count_,
                     " elements: their slots and lengths alone take ", bytes, " bytes."));
  }
  if (count_ == 0) {
    PartialTensorShape known = attribute, rest;
    if (!known.IsFullyDefined() && table.element_shape().dims() > 0) {
      rest = table.element_shape();
      if (!rest.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name, "A row");
      TF_RETURN_IF_ERROR(attribute.MergeWith(rest, &known));
    }
    return ShapeOfNone(name, "element_shape_except0", "concatenating", known, &shape_);
  }
  Element element;
  TensorShape first, rest;
  int64_t total = 0;
  const Tensor* last_source = nullptr;
  for (int64_t i = 0; i < count_; ++i) {
    TF_RETURN_IF_ERROR(table.Inspect(i, element_shape_, &element));
    if (element.shape.dims() == 0) {
      return errors::Invalid(name, "Concat saw a scalar shape at index ", i,
                             " but requires at least vectors.  Did you mean to call pack?");
    }
    rest = element.shape;
    if (!rest.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name, "A row");
    if (i == 0) {
      first = rest;
      if (!attribute.IsCompatibleWith(first)) {
        return errors::Invalid(
            name, "TensorArray was passed element_shape_except0 ", attribute.DebugString(),
            " but index 0 has (excepting dimension 0) shape: ", first.DebugString(),
            " which does not match.");
      }
    } else if (rest != first) {
      return errors::Invalid(
          name, "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ",
          first.DebugString(), " but index ", i,
          " has (excepting dimension 0) shape: ", rest.DebugString());
    }
    lengths_.push_back(element.shape.dim_size(0));
    if (__builtin_add_overflow(total, lengths_.back(), &total)) {
      return errors::ResultTooLarge(name, "The concatenated value");
    }
    Append(element, &last_source);
  }
  return Stacked(name, "The concatenated value", total, first, &shape_);
}

}  // namespace tensor_array_grad
