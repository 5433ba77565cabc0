#include "cc/array/bulk_write.h"

#include <algorithm>
#include <utility>

#include "cc/array/errors.h"
#include "cc/array/index_set.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {

// ---- the steps --------------------------------------------------------------------------------

absl::Status BulkWrite::Look(SlotTable* table, Next* next) {
  *next = Next::kCommit;
  if (computed_) {
    TF_RETURN_IF_ERROR(table->CheckOpen());
    // If this write fixes the element shape, another call may have fixed a different one meanwhile.
    // In that case no slot had data, so that all sums are in new buffers and nothing has changed.
    return element_shape_.IsFullyDefined()
               ? table->CheckElementShape(index(0), block().shape(0), table->element_shape())
               : absl::OkStatus();
  }
  TF_RETURN_IF_ERROR(CheckParts(*table));
  if (AnyBusy(*table)) {
    *next = Next::kWait;
    return absl::OkStatus();
  }
  PrepareSlots(table);
  if (sums_.empty()) return absl::OkStatus();
  for (Sum& sum : sums_) sum.data = table->DataOf(sum.index, &sum.owned);
  // Leases all slots, also those without a sum: Commit would overwrite what another call put there
  // meanwhile.
  TakeLease(table);
  *next = Next::kCompute;
  dtype_ = table->options().dtype;
  return absl::OkStatus();
}

absl::Status BulkWrite::Compute(ElementOps& ops) {
  computed_ = true;
  // Allocates everything first: no sum may have changed when an allocation fails.
  std::vector<Tensor> parts;  // of all sums
  for (Sum& sum : sums_) {
    for (int64_t i : sum.parts) {
      parts.push_back(
          ViewOf({block().value(), block().begin(i), block().count(i)}, block().shape(i)));
    }
    if (sum.owned) continue;
    TF_RETURN_IF_ERROR(ops.Allocate(dtype_, block().shape(sum.parts.front()), &sum.fresh));
  }
  auto part = parts.cbegin();
  for (Sum& sum : sums_) {
    const auto end = part + static_cast<std::ptrdiff_t>(sum.parts.size());
    if (!sum.owned) {
      const Tensor first = sum.data.NumElements() > 0 ? sum.data : *part++;
      TF_RETURN_IF_ERROR(ops.Add(first, *part++, &sum.fresh));
      sum.data = std::move(sum.fresh);
    }
    for (; part != end; ++part) TF_RETURN_IF_ERROR(ops.Add(sum.data, *part, &sum.data));
  }
  return absl::OkStatus();
}

void BulkWrite::Commit(SlotTable* table) {
  shapes_.Commit();
  table->SetElementShape(std::move(element_shape_));
  // This call's reference keeps the block: a slot named twice drops the part that it got first.
  Block* block = table->AddBlock(&blocks_);
  for (int64_t i = 0; i < block->parts(); ++i) {
    if (FindSum(index(i)) == nullptr) table->PutPart(index(i), block, i);
  }
  for (Sum& sum : sums_) table->Put(sum.index, &sum.data, true);
  table->DropReference(block);
}

// ---- what Look finds --------------------------------------------------------------------------

absl::Status BulkWrite::CheckParts(const SlotTable& table) {
  const ArrayOptions& array = table.options();
  TF_RETURN_IF_ERROR(table.CheckOpen());
  TF_RETURN_IF_ERROR(CheckRequest(table));
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

bool BulkWrite::AnyBusy(const SlotTable& table) const {
  for (int64_t i = 0; table.AnyBusy() && i < block().parts(); ++i) {
    if (table.IsBusy(index(i))) return true;
  }
  return false;
}

void BulkWrite::PrepareSlots(SlotTable* table) {
  const bool record = !element_shape_.IsFullyDefined();
  int64_t run = 0;  // how many parts of one shape, in consecutive slots, are not recorded yet
  for (int64_t i = 0; i < block().parts(); ++i) {
    const int64_t slot = index(i);
    table->Make(slot, size_);
    if (!record) continue;
    ++run;
    const bool ends = i + 1 == block().parts() || index(i + 1) != slot + 1 ||
                      (!block().stacked() && block().shape(i + 1) != block().shape(i));
    if (!ends) continue;
    shapes_.Add(slot - run + 1, run, block().shape(i));
    run = 0;
  }
}

void BulkWrite::MakeSums(std::vector<int64_t> slots) {
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  sums_ = std::vector<Sum>(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) sums_[i].index = slots[i];
  for (int64_t i = 0; !sums_.empty() && i < block().parts(); ++i) {
    if (Sum* sum = FindSum(index(i))) sum->parts.push_back(i);
  }
}

BulkWrite::Sum* BulkWrite::FindSum(int64_t index) {
  const auto below = [](const Sum& sum, int64_t slot) { return sum.index < slot; };
  const auto found = std::lower_bound(sums_.begin(), sums_.end(), index, below);
  return found != sums_.end() && found->index == index ? &*found : nullptr;
}

void BulkWrite::SetBusy(SlotTable* table, bool busy) {
  for (int64_t i = 0; i < block().parts(); ++i) table->SetBusy(index(i), busy);
}

// ---- scatter and split ------------------------------------------------------------------------

absl::Status ScatterWrite::CheckRequest(const SlotTable& table) const {
  if (indices_.empty()) return absl::OkStatus();
  const std::string& name = table.options().name;
  const int64_t largest = *std::max_element(indices_.begin(), indices_.end());
  if (!table.dynamic_size() && largest >= table.size()) {
    return errors::Invalid(name, "Max scatter index must be < array size (", largest, " vs. ",
                           table.size(), ")");
  }
  return largest < kMaxSize ? absl::OkStatus() : errors::CannotGrow(name, largest);
}

absl::Status SplitWrite::CheckRequest(const SlotTable& table) const {
  const int64_t parts = block().parts();
  const bool fits = table.dynamic_size() ? table.size() <= parts : table.size() == parts;
  if (fits) return absl::OkStatus();
  return errors::Invalid(table.options().name,
                         "TensorArray's size is not equal to the size of lengths (", table.size(),
                         " vs. ", parts,
                         "), and the TensorArray is not marked as dynamically resizeable");
}

void SplitWrite::Commit(SlotTable* table) {
  const int64_t parts = block().parts();
  BulkWrite::Commit(table);
  if (!table->options().accumulate) table->set_marked_size(parts);
}

}  // namespace tensor_array_grad
