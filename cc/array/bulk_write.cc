#include "cc/array/bulk_write.h"

#include <algorithm>

#include "cc/array/errors.h"
#include "cc/array/index_set.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {

// ---- check ------------------------------------------------------------------------------------

absl::Status BulkWrite::Check(SlotTable* table) {
  TF_RETURN_IF_ERROR(table->CheckOpen());
  TF_RETURN_IF_ERROR(block().stacked() ? CheckScatter(*table) : CheckSplit(*table));
  TF_RETURN_IF_ERROR(CheckParts(*table));
  for (int64_t i = 0; i < block().parts(); ++i) table->Make(index(i), size_);
  if (!element_shape_.IsFullyDefined()) {
    size_t shapes = 0;
    ForEachRange([&](int64_t begin, int64_t count, const TensorShape&) {
      shapes = block().stacked() ? 1 : shapes + 1;
      table->options().shapes->MakeRoom(begin, count, shapes);
    });
  }
  for (Sum& sum : sums_) sum.data = table->DataOf(sum.index, &sum.owned);
  return absl::OkStatus();
}

absl::Status BulkWrite::CheckScatter(const SlotTable& table) const {
  if (indices_.empty()) return absl::OkStatus();
  const std::string& name = table.options().name;
  const int64_t largest = *std::max_element(indices_.begin(), indices_.end());
  if (!table.dynamic_size() && largest >= table.size()) {
    return errors::Invalid(name, "Max scatter index must be < array size (", largest, " vs. ",
                           table.size(), ")");
  }
  return largest < kMaxSize ? absl::OkStatus() : errors::CannotGrow(name, largest);
}

absl::Status BulkWrite::CheckSplit(const SlotTable& table) const {
  const int64_t parts = block().parts();
  const bool fits = table.dynamic_size() ? table.size() <= parts : table.size() == parts;
  if (fits) return absl::OkStatus();
  return errors::Invalid(table.options().name,
                         "TensorArray's size is not equal to the size of lengths (", table.size(),
                         " vs. ", parts,
                         "), and the TensorArray is not marked as dynamically resizeable");
}

absl::Status BulkWrite::CheckParts(const SlotTable& table) {
  const ArrayOptions& array = table.options();
  element_shape_ = table.element_shape();
  size_ = table.size();
  std::vector<int64_t> summed;
  IndexSet seen;
  TensorShape shape;
  for (int64_t i = 0; i < block().parts(); ++i) {
    const int64_t slot = index(i);
    TF_RETURN_IF_ERROR(table.CheckWriteIndex(slot));
    if (i == 0 || !block().stacked()) {
      shape = block().shape(i);
      TF_RETURN_IF_ERROR(table.CheckElementShape(slot, shape, element_shape_));
      if (table.FirstShapeCounts()) element_shape_ = shape;
    }
    bool sums = false;
    TF_RETURN_IF_ERROR(table.CheckSlot(slot, shape, &sums));
    if (!seen.Insert(slot)) {
      if (!array.accumulate) return errors::AlreadyWritten(array.name, slot);
      sums |= shape.num_elements() > 0;
      if (sums && !CanAdd(array.dtype)) return errors::NoSum(array.name, slot, array.dtype);
    }
    if (sums) summed.push_back(slot);
    size_ = std::max(size_, slot + 1);
  }
  MakeSums(std::move(summed));
  return absl::OkStatus();
}

void BulkWrite::MakeSums(std::vector<int64_t> slots) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  sums_ = std::vector<Sum>(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) sums_[i].index = slots[i];
  for (int64_t i = 0; !sums_.empty() && i < block().parts(); ++i) {
    if (Sum* sum = FindSum(index(i))) sum->addends.push_back(block().view(i));
  }
}

BulkWrite::Sum* BulkWrite::FindSum(int64_t index) {
  const auto below = [](const Sum& sum, int64_t slot) { return sum.index < slot; };
  const auto found = std::lower_bound(sums_.begin(), sums_.end(), index, below);
  return found != sums_.end() && found->index == index ? &*found : nullptr;
}

template <typename Visit>
void BulkWrite::ForEachRange(Visit visit) const {
  int64_t begin = 0;
  for (int64_t i = 0; i < block().parts(); ++i) {
    const bool goes_on = i + 1 < block().parts() && index(i + 1) == index(i) + 1 &&
                         (block().stacked() || block().shape(i + 1) == block().shape(i));
    if (goes_on) continue;
    visit(index(begin), i + 1 - begin, block().shape(i));
    begin = i + 1;
  }
}

// ---- compute and commit -----------------------------------------------------------------------

absl::Status BulkWrite::Compute(ElementOps& ops) {
  // Allocates everything first: no sum may have changed when an allocation fails.
  for (Sum& sum : sums_) {
    if (sum.owned) continue;
    const Tensor& addend = sum.addends.front();
    TF_RETURN_IF_ERROR(ops.Allocate(addend.dtype(), addend.shape(), &sum.fresh));
  }
  for (Sum& sum : sums_) {
    auto addend = sum.addends.cbegin();
    if (!sum.owned) {
      const Tensor& first = sum.data.NumElements() > 0 ? sum.data : *addend++;
      TF_RETURN_IF_ERROR(ops.Add(first, *addend++, &sum.fresh));
      std::swap(sum.data, sum.fresh);
    }
    for (; addend != sum.addends.cend(); ++addend) {
      TF_RETURN_IF_ERROR(ops.Add(sum.data, *addend, &sum.data));
    }
  }
  return absl::OkStatus();
}

void BulkWrite::Commit(SlotTable* table) {
  const ArrayOptions& array = table->options();
  if (!element_shape_.IsFullyDefined()) {
    ForEachRange([&](int64_t begin, int64_t count, const TensorShape& shape) {
      array.shapes->Record(begin, count, shape);
    });
  }
  table->SetElementShape(std::move(element_shape_));
  if (!block().stacked() && !array.accumulate) table->set_marked_size(block().parts());
  for (int64_t i = 0; i < block().parts(); ++i) {
    if (FindSum(index(i)) == nullptr) table->PutPart(index(i), &block_.front(), i);
  }
  for (Sum& sum : sums_) table->Put(sum.index, &sum.data, true);
  table->TakeOver(&block_);
}

}  // namespace tensor_array_grad
