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

// Plans a read of no slots. `attribute` and `doing` are for the message.
absl::Status PlanEmpty(const std::string& name, absl::string_view attribute,
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

// ---- the steps of each bulk read --------------------------------------------------------------

absl::Status BulkRead::Look(SlotTable* table, Next* next) {
  *next = Next::kCommit;
  if (computed_ && table->version() == version_) return absl::OkStatus();
  Plan plan;
  TF_RETURN_IF_ERROR(MakePlan(*table, &plan));
  if (plan.busy) {
    *next = Next::kWait;
    return absl::OkStatus();  // the slots keep the buffers of `plan`
  }
  previous_ = std::exchange(plan_, std::move(plan));
  version_ = table->version();
  // The plan shares the slots' buffers from here on, so no sum may be made in them any more.
  for (int64_t i = 0; table->options().accumulate && i < plan_.count; ++i) table->Share(index(i));
  if (computed_ && plan_.SameAs(previous_)) return absl::OkStatus();
  *next = Next::kCompute;
  dtype_ = table->options().dtype;
  return absl::OkStatus();
}

absl::Status BulkRead::Compute(ElementOps& ops) {
  previous_ = Plan();
  computed_ = true;
  made_ = Tensor();
  if (plan_.pieces.size() <= 1) {
    const Piece all = plan_.pieces.empty() ? Piece() : plan_.pieces[0];
    Tensor whole;
    TF_RETURN_IF_ERROR(Materialize(all, dtype_, plan_.shape, ops, &whole));
    return KeepValues(whole, ops, &made_);
  }
  TF_RETURN_IF_ERROR(ops.Allocate(dtype_, plan_.shape, &made_));
  return ops.Pack(plan_.pieces, &made_);
}

void BulkRead::Commit(SlotTable* table) {
  // First makes the slots that are missing, which read as zeros: only this step needs memory.
  int64_t size = table->size();
  for (int64_t i = 0; i < plan_.count; ++i) {
    size = std::max(size, index(i) + 1);
    table->Make(index(i), size);
  }
  for (int64_t i = 0; i < plan_.count; ++i) table->CommitRead(index(i));
}

void BulkRead::Plan::Append(const Element& element, const Tensor** last_source) {
  busy |= element.busy;
  if (element.count == 0) return;
  const bool goes_on =
      !pieces.empty() && *last_source == element.source &&
      (element.source == nullptr || pieces.back().begin + pieces.back().count == element.begin);
  if (goes_on) {
    pieces.back().count += element.count;
  } else {
    pieces.push_back(element.piece());
  }
  *last_source = element.source;
}

bool BulkRead::Plan::SameAs(const Plan& other) const {
  if (count != other.count || shape != other.shape || lengths != other.lengths ||
      pieces.size() != other.pieces.size()) {
    return false;
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece &a = pieces[i], &b = other.pieces[i];
    const bool same_source =
        a.zeros() ? b.zeros() : !b.zeros() && a.source.SharesBufferWith(b.source);
    if (a.begin != b.begin || a.count != b.count || !same_source) return false;
  }
  return true;
}
// ---- gather -----------------------------------------------------------------------------------

absl::Status GatherRead::MakePlan(const SlotTable& table, Plan* plan) const {
  const std::string& name = table.options().name;
  TF_RETURN_IF_ERROR(table.element_shape().MergeWith(attribute_, &plan->element_shape));
  plan->count = static_cast<int64_t>(indices_.size());
  if (plan->count == 0) {
    PartialTensorShape known = plan->element_shape;
    const std::optional<TensorShape> common = table.options().shapes->Common(SlotShapes::kNow);
    if (!known.IsFullyDefined() && common.has_value() && !table.closed()) {
      TF_RETURN_IF_ERROR(plan->element_shape.MergeWith(*common, &known));
    }
    return PlanEmpty(name, "element shape", "packing", known, &plan->shape);
  }
  IndexSet seen;
  Element element;
  TensorShape first;
  const Tensor* last_source = nullptr;
  for (int64_t i = 0; i < plan->count; ++i) {
    const int64_t index = indices_[i];
    TF_RETURN_IF_ERROR(table.Inspect(index, plan->element_shape, &element));
    if (table.options().clear_after_read && !seen.Insert(index)) {
      return errors::ReadTwice(name, index);
    }
    if (i == 0) {
      first = element.shape;
      if (!attribute_.IsCompatibleWith(first)) {
        return errors::Invalid(
            name, "TensorArray was passed element_shape ", attribute_.DebugString(),
            " which does not match the Tensor at index ", index, ": ", first.DebugString());
      }
    } else if (element.shape != first) {
      return errors::Invalid(
          name, "TensorArray has inconsistent shapes.  Index 0 has shape: ", first.DebugString(),
          " but index ", i, " has shape: ", element.shape.DebugString());
    }
    plan->Append(element, &last_source);
  }
  return Stacked(name, "The gathered value", plan->count, first, &plan->shape);
}

void GatherRead::Commit(SlotTable* table) {
  BulkRead::Commit(table);
  table->SetElementShape(std::move(plan_.element_shape));
}

// ---- concat -----------------------------------------------------------------------------------

absl::Status ConcatRead::MakePlan(const SlotTable& table, Plan* plan) const {
  const std::string& name = table.options().name;
  TF_RETURN_IF_ERROR(table.CheckOpen());
  plan->count = table.joined_size();
  // Memory grows with the slots that were touched, and Concat touches all of them.
  const int64_t bytes = plan->count * static_cast<int64_t>(sizeof(Slot) + sizeof(int64_t));
  if (bytes > tensorflow::port::AvailableRam()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("TensorArray ", name, ": no memory to concatenate ", plan->count,
                     " elements: their slots and lengths alone take ", bytes, " bytes."));
  }
  if (plan->count == 0) {
    PartialTensorShape known = attribute_, rest;
    if (!known.IsFullyDefined() && table.element_shape().dims() > 0) {
      rest = table.element_shape();
      if (!rest.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name, "A row");
      TF_RETURN_IF_ERROR(attribute_.MergeWith(rest, &known));
    }
    return PlanEmpty(name, "element_shape_except0", "concatenating", known, &plan->shape);
  }
  Element element;
  TensorShape first, rest;
  int64_t total = 0;
  const Tensor* last_source = nullptr;
  for (int64_t i = 0; i < plan->count; ++i) {
    TF_RETURN_IF_ERROR(table.Inspect(i, table.element_shape(), &element));
    if (element.shape.dims() == 0) {
      return errors::Invalid(name, "Concat saw a scalar shape at index ", i,
                             " but requires at least vectors.  Did you mean to call pack?");
    }
    rest = element.shape;
    if (!rest.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name, "A row");
    if (i == 0) {
      first = rest;
      if (!attribute_.IsCompatibleWith(first)) {
        return errors::Invalid(
            name, "TensorArray was passed element_shape_except0 ", attribute_.DebugString(),
            " but index 0 has (excepting dimension 0) shape: ", first.DebugString(),
            " which does not match.");
      }
    } else if (rest != first) {
      return errors::Invalid(
          name, "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ",
          first.DebugString(), " but index ", i,
          " has (excepting dimension 0) shape: ", rest.DebugString());
    }
    plan->lengths.push_back(element.shape.dim_size(0));
    if (__builtin_add_overflow(total, plan->lengths.back(), &total)) {
      return errors::ResultTooLarge(name, "The concatenated value");
    }
    plan->Append(element, &last_source);
  }
  return Stacked(name, "The concatenated value", total, first, &plan->shape);
}

}  // namespace tensor_array_grad
