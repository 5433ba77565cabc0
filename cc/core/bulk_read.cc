// The bulk reads of ArrayStore: gather and concat.

#include <utility>

#include "cc/core/array_store.h"
#include "cc/core/errors.h"
#include "cc/core/index_set.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/mem.h"

namespace tensor_array_grad {

using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorShape;

struct ArrayStore::ReadPlan {
  // The request: the slots in `indices`, or all slots.
  bool all = false;
  absl::Span<const int32_t> indices;
  PartialTensorShape attribute;

  // What was found.
  int64_t count = 0;  // of slots
  TensorShape shape;  // of the result
  std::vector<Piece> pieces;
  std::vector<int64_t> lengths;      // concat: dimension 0 of each element
  PartialTensorShape element_shape;  // gather: the array's, merged with the attribute
  bool busy = false;
  uint64_t version = 0;

  int64_t index(int64_t i) const { return all ? i : indices[i]; }

  ReadPlan Request() const {
    ReadPlan request;
    request.all = all;
    request.indices = indices;
    request.attribute = attribute;
    return request;
  }

  // Appends an element's values; extends the last piece if they follow it in the same tensor.
  void Append(const Element& element, const Tensor** last_source) {
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

  // Whether both plans have the same result, from the same buffers.
  bool SameAs(const ReadPlan& other) const {
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
};

namespace {

// `shape` with `dim0` put in front.
absl::Status Prepend(int64_t dim0, const TensorShape& shape, TensorShape* result) {
  *result = TensorShape();
  TF_RETURN_IF_ERROR(result->AddDimWithStatus(dim0));
  return result->AppendShapeWithStatus(shape);
}

}  // namespace

absl::Status ArrayStore::Gather(absl::Span<const int32_t> indices,
                                const PartialTensorShape& element_shape, ElementOps& ops,
                                Tensor* value) {
  ReadPlan plan;
  plan.indices = indices;
  plan.attribute = element_shape;
  return ReadMany(&ArrayStore::PlanGather, &plan, ops, value);
}

absl::Status ArrayStore::Concat(const PartialTensorShape& element_shape_except0, ElementOps& ops,
                                Tensor* value, std::vector<int64_t>* lengths) {
  ReadPlan plan;
  plan.all = true;
  plan.attribute = element_shape_except0;
  TF_RETURN_IF_ERROR(ReadMany(&ArrayStore::PlanConcat, &plan, ops, value));
  *lengths = std::move(plan.lengths);
  return absl::OkStatus();
}

absl::Status ArrayStore::PlanEmpty(absl::string_view attribute, absl::string_view doing,
                                   const PartialTensorShape& known, ReadPlan* plan) const {
  TensorShape element;
  if (!known.AsTensorShape(&element)) {
    return errors::EmptyWithoutShape(name_, attribute, doing, known);
  }
  return Prepend(0, element, &plan->shape).ok() ? absl::OkStatus()
                                                : errors::ResultTooLarge(name_, "An empty result");
}

absl::Status ArrayStore::PlanGather(ReadPlan* plan) const {
  TF_RETURN_IF_ERROR(element_shape_.MergeWith(plan->attribute, &plan->element_shape));
  plan->count = static_cast<int64_t>(plan->indices.size());
  if (plan->count == 0) {
    PartialTensorShape known = plan->element_shape;
    const std::optional<TensorShape> common = shapes_->Common(SlotShapes::kNow);
    if (!known.IsFullyDefined() && common.has_value() && !closed()) {
      TF_RETURN_IF_ERROR(
          plan->element_shape.MergeWith(PartialTensorShape(common->dim_sizes()), &known));
    }
    return PlanEmpty("element shape", "packing", known, plan);
  }
  IndexSet seen;
  Element element;
  TensorShape first;
  const Tensor* last_source = nullptr;
  for (int64_t i = 0; i < plan->count; ++i) {
    const int64_t index = plan->indices[i];
    TF_RETURN_IF_ERROR(Inspect(index, plan->element_shape, &element));
    if (clear_after_read_ && !seen.Insert(index)) return errors::ReadTwice(name_, index);
    if (i == 0) {
      first = element.shape;
      if (!plan->attribute.IsCompatibleWith(PartialTensorShape(first.dim_sizes()))) {
        return errors::GatherMismatch(name_, plan->attribute, index, first);
      }
    } else if (element.shape != first) {
      return errors::Inconsistent(name_, first, i, element.shape);
    }
    plan->Append(element, &last_source);
  }
  return Prepend(plan->count, first, &plan->shape).ok()
             ? absl::OkStatus()
             : errors::ResultTooLarge(name_, "The gathered value");
}

absl::Status ArrayStore::PlanConcat(ReadPlan* plan) const {
  TF_RETURN_IF_ERROR(CheckOpen());
  plan->count = accumulate_ && marked_size_ >= 0 ? marked_size_ : size_;
  // Memory grows with the slots that were touched, and Concat touches all of them.
  const int64_t bytes = plan->count * static_cast<int64_t>(sizeof(Slot) + sizeof(int64_t));
  if (bytes > tensorflow::port::AvailableRam()) {
    return errors::TooManyToConcat(name_, plan->count, bytes);
  }
  if (plan->count == 0) {
    PartialTensorShape known = plan->attribute, rest;
    if (!known.IsFullyDefined() && element_shape_.dims() > 0) {
      rest = element_shape_;
      if (!rest.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name_, "A row");
      TF_RETURN_IF_ERROR(plan->attribute.MergeWith(rest, &known));
    }
    return PlanEmpty("element_shape_except0", "concatenating", known, plan);
  }
  Element element;
  TensorShape first, rest;
  int64_t total = 0;
  const Tensor* last_source = nullptr;
  for (int64_t i = 0; i < plan->count; ++i) {
    TF_RETURN_IF_ERROR(Inspect(i, element_shape_, &element));
    if (element.shape.dims() == 0) return errors::ConcatScalar(name_, i);
    rest = element.shape;
    if (!rest.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name_, "A row");
    if (i == 0) {
      first = rest;
      if (!plan->attribute.IsCompatibleWith(PartialTensorShape(first.dim_sizes()))) {
        return errors::ConcatFirst(name_, plan->attribute, first);
      }
    } else if (rest != first) {
      return errors::ConcatInconsistent(name_, first, i, rest);
    }
    plan->lengths.push_back(element.shape.dim_size(0));
    if (__builtin_add_overflow(total, plan->lengths.back(), &total)) {
      return errors::ResultTooLarge(name_, "The concatenated value");
    }
    plan->Append(element, &last_source);
  }
  return Prepend(total, first, &plan->shape).ok()
             ? absl::OkStatus()
             : errors::ResultTooLarge(name_, "The concatenated value");
}

absl::Status ArrayStore::PlanWhenIdle(Planner planner, ReadPlan* plan) {
  for (;;) {
    TF_RETURN_IF_ERROR((this->*planner)(plan));
    if (!plan->busy) break;
    *plan = plan->Request();
    idle_.Wait(&mu_);
  }
  plan->version = version_;
  // The plan shares the slots' buffers from here on, so no sum may be made in them any more.
  for (int64_t i = 0; accumulate_ && i < plan->count; ++i) {
    if (Slot* slot = slots_.Find(plan->index(i))) slot->owned = false;
  }
  return absl::OkStatus();
}

absl::Status ArrayStore::ReadMany(Planner planner, ReadPlan* plan, ElementOps& ops, Tensor* value) {
  ReadPlan other;  // declared before the locks below, so that its tensors are freed unlocked
  {
    MutexLock lock(&mu_);
    TF_RETURN_IF_ERROR(PlanWhenIdle(planner, plan));
  }
  for (;;) {
    Tensor made;
    if (plan->pieces.size() <= 1) {
      const Piece all = plan->pieces.empty() ? Piece() : plan->pieces[0];
      Tensor whole;
      TF_RETURN_IF_ERROR(Materialize(all, plan->shape, ops, &whole));
      TF_RETURN_IF_ERROR(KeepValues(whole, ops, &made));
    } else {
      TF_RETURN_IF_ERROR(ops.Allocate(dtype_, plan->shape, &made));
      TF_RETURN_IF_ERROR(ops.Pack(plan->pieces, &made));
    }
    other = plan->Request();
    MutexLock lock(&mu_);
    if (version_ != plan->version) {
      TF_RETURN_IF_ERROR(PlanWhenIdle(planner, &other));
      std::swap(*plan, other);
      if (!plan->SameAs(other)) continue;
    }
    CommitReads(plan);
    *value = std::move(made);
    return absl::OkStatus();
  }
}

void ArrayStore::CommitReads(ReadPlan* plan) {
  // First makes the slots that are missing, which read as zeros: only this step needs memory.
  for (int64_t i = 0; i < plan->count; ++i) FindOrMakeSlot(plan->index(i));
  for (int64_t i = 0; i < plan->count; ++i) CommitRead(plan->index(i));
  if (!plan->all) SetElementShape(std::move(plan->element_shape));
}

}  // namespace tensor_array_grad
