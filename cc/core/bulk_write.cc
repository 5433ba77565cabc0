// The bulk writes of ArrayStore: scatter and split.

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "cc/core/array_store.h"
#include "cc/core/errors.h"
#include "cc/core/index_set.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {

using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using State = Slot::State;

namespace {

// The sum that a bulk write makes for one slot: the slot's data, if it has any, and the parts of
// the block that are written to the slot.
struct Sum {
  int64_t index = 0;  // of the slot
  Tensor data;
  Tensor fresh;  // the buffer for the first sum, unless `owned`
  bool has_data = false;
  bool owned = false;  // `data` may be changed in place
  std::vector<int64_t> parts;
};

}  // namespace

struct ArrayStore::WritePlan {
  explicit WritePlan(SlotShapes& recorded) : shapes(recorded) {}

  // The request: part i of the block goes to slot indices[i], or to slot i.
  std::list<Block> blocks;  // exactly one; the commit moves it to the store's list
  bool split = false;
  absl::Span<const int32_t> indices;

  // What was found.
  PartialTensorShape element_shape;
  int64_t size = 0;       // of the array afterwards
  std::vector<Sum> sums;  // rising by index
  SlotShapes::Recording shapes;

  Block& block() { return blocks.front(); }
  const Block& block() const { return blocks.front(); }
  int64_t index(int64_t part) const { return split ? part : indices[part]; }

  Tensor Part(int64_t i) const {
    return ViewOf({block().value(), block().begin(i), block().count(i)}, block().shape(i));
  }

  // Sets `sums` to one Sum without data per distinct slot in `slots`, with the parts written to it.
  void MakeSums(std::vector<int64_t> slots) {
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    sums = std::vector<Sum>(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) sums[i].index = slots[i];
    for (int64_t i = 0; !sums.empty() && i < block().parts(); ++i) {
      if (Sum* sum = FindSum(index(i))) sum->parts.push_back(i);
    }
  }

  Sum* FindSum(int64_t index) {
    const auto below = [](const Sum& sum, int64_t slot) { return sum.index < slot; };
    const auto found = std::lower_bound(sums.begin(), sums.end(), index, below);
    return found != sums.end() && found->index == index ? &*found : nullptr;
  }
};

absl::Status ArrayStore::Scatter(absl::Span<const int32_t> indices, const Tensor& value,
                                 ElementOps& ops) {
  if (value.dims() == 0) return errors::UnstackRank(name_, value.shape());
  if (value.dim_size(0) >= kMaxSize) return errors::UnstackDim0(name_, value.dim_size(0));
  TF_RETURN_IF_ERROR(CheckOpen());
  if (const auto count = static_cast<int64_t>(indices.size()); count != value.dim_size(0)) {
    return errors::UnstackLength(name_, count, value.dim_size(0));
  }
  TensorShape row = value.shape();
  if (!row.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name_, "A row");
  Tensor kept;
  TF_RETURN_IF_ERROR(KeepValues(value, ops, &kept));
  WritePlan plan(*shapes_);
  plan.blocks.emplace_back(std::move(kept));
  plan.indices = indices;
  return WriteMany(&plan, ops);
}

absl::Status ArrayStore::Split(const Tensor& value, absl::Span<const int64_t> lengths,
                               ElementOps& ops) {
  if (value.dims() == 0) return errors::SplitRank(name_, value.shape());
  std::vector<int64_t> starts = {0};
  starts.reserve(lengths.size() + 1);
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) return errors::NegativeLength(name_, static_cast<int64_t>(i), lengths[i]);
    int64_t end;
    if (__builtin_add_overflow(starts.back(), lengths[i], &end)) {
      return errors::ResultTooLarge(name_, "The value of these lengths");
    }
    starts.push_back(end);
  }
  if (starts.back() != value.dim_size(0)) {
    return errors::SplitSum(name_, starts.back(), value.shape());
  }
  if (const auto count = static_cast<int64_t>(lengths.size()); count > kMaxSize) {
    return errors::CannotGrow(name_, count - 1);
  }
  TensorShape row = value.shape();
  if (!row.RemoveDimWithStatus(0).ok()) return errors::ResultTooLarge(name_, "A piece");
  Tensor kept;
  TF_RETURN_IF_ERROR(KeepValues(value, ops, &kept));
  WritePlan plan(*shapes_);
  plan.blocks.emplace_back(std::move(kept), std::move(starts));
  plan.split = true;
  return WriteMany(&plan, ops);
}

// ---- checks ---------------------------------------------------------------------------------

absl::Status ArrayStore::CheckSplitSize(int64_t pieces) const {
  if (dynamic_size_ ? size_ <= pieces : size_ == pieces) return absl::OkStatus();
  return errors::SplitSize(name_, size_, pieces);
}

absl::Status ArrayStore::CheckScatterIndices(absl::Span<const int32_t> indices) const {
  if (indices.empty()) return absl::OkStatus();
  const int64_t largest = *std::max_element(indices.begin(), indices.end());
  if (!dynamic_size_ && largest >= size_) return errors::ScatterMaxIndex(name_, largest, size_);
  return largest < kMaxSize ? absl::OkStatus() : errors::CannotGrow(name_, largest);
}

absl::Status ArrayStore::CheckWrites(WritePlan* plan) const {
  const Block& block = plan->block();
  TF_RETURN_IF_ERROR(CheckOpen());
  TF_RETURN_IF_ERROR(plan->split ? CheckSplitSize(block.parts())
                                 : CheckScatterIndices(plan->indices));
  plan->element_shape = element_shape_;
  plan->size = size_;
  std::vector<int64_t> summed;
  IndexSet seen;
  TensorShape shape;
  for (int64_t i = 0; i < block.parts(); ++i) {
    const int64_t index = plan->index(i);
    TF_RETURN_IF_ERROR(CheckWriteIndex(index));
    if (i == 0 || !block.stacked()) {
      shape = block.shape(i);
      TF_RETURN_IF_ERROR(CheckElementShape(index, shape, plan->element_shape));
      if (FirstShapeCounts()) plan->element_shape = PartialTensorShape(shape.dim_sizes());
    }
    bool sums = false;
    TF_RETURN_IF_ERROR(CheckSlot(index, shape, &sums));
    if (!seen.Insert(index)) {
      if (!accumulate_) return errors::AlreadyWritten(name_, index);
      sums |= shape.num_elements() > 0;
      if (sums && !CanAdd(dtype_)) return errors::NoSum(name_, index, dtype_);
    }
    if (sums) summed.push_back(index);
    plan->size = std::max(plan->size, index + 1);
  }
  plan->MakeSums(std::move(summed));
  return absl::OkStatus();
}

bool ArrayStore::AnyBusy(const WritePlan& plan) const {
  for (int64_t i = 0; busy_ > 0 && i < plan.block().parts(); ++i) {
    const Slot* slot = slots_.Find(plan.index(i));
    if (slot != nullptr && slot->busy) return true;
  }
  return false;
}

// ---- the three steps ------------------------------------------------------------------------

absl::Status ArrayStore::WriteMany(WritePlan* plan, ElementOps& ops) {
  {
    MutexLock lock(&mu_);
    for (;;) {
      TF_RETURN_IF_ERROR(CheckWrites(plan));
      if (!AnyBusy(*plan)) break;
      idle_.Wait(&mu_);
    }
    PrepareSlots(plan);
    if (plan->sums.empty()) {
      CommitWrites(plan);
      return absl::OkStatus();
    }
    LeaseSlots(plan);
  }
  absl::Cleanup give_back = [this, plan] {
    MutexLock lock(&mu_);
    if (!closed()) ReturnSlots(*plan);
  };
  const absl::Status summed = ComputeSums(plan, ops);
  std::move(give_back).Cancel();
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(CheckOpen());
  ReturnSlots(*plan);
  TF_RETURN_IF_ERROR(summed);
  if (plan->element_shape.IsFullyDefined()) {
    // If this write fixes the element shape, another call may have fixed a different one meanwhile.
    // In that case no slot had data, so that all sums are in new buffers and nothing has changed.
    TF_RETURN_IF_ERROR(CheckElementShape(plan->index(0), plan->block().shape(0), element_shape_));
  }
  CommitWrites(plan);
  return absl::OkStatus();
}

// Takes all memory that CommitWrites needs, so that the commit cannot fail.
void ArrayStore::PrepareSlots(WritePlan* plan) {
  const Block& block = plan->block();
  const bool record = !plan->element_shape.IsFullyDefined();
  int64_t run = 0;  // parts of one shape in consecutive slots that are not recorded yet
  for (int64_t i = 0; i < block.parts(); ++i) {
    const int64_t index = plan->index(i);
    slots_.FindOrMake(index, plan->size);
    if (!record) continue;
    ++run;
    const bool ends = i + 1 == block.parts() || plan->index(i + 1) != index + 1 ||
                      (!block.stacked() && block.shape(i + 1) != block.shape(i));
    if (!ends) continue;
    plan->shapes.Add(index - run + 1, run, block.shape(i));
    run = 0;
  }
}

// Leases all slots, also those without a sum: the commit would overwrite what another call put
// there meanwhile.
void ArrayStore::LeaseSlots(WritePlan* plan) {
  for (Sum& sum : plan->sums) {
    const Slot* slot = slots_.Find(sum.index);
    sum.has_data = slot->state == State::kWritten;
    sum.owned = slot->owned;
    if (sum.has_data) sum.data = DataOf(*slot);
  }
  for (int64_t i = 0; i < plan->block().parts(); ++i) SetBusy(slots_.Find(plan->index(i)), true);
}

absl::Status ArrayStore::ComputeSums(WritePlan* plan, ElementOps& ops) const {
  // Allocates everything first: no sum may have changed when an allocation fails.
  std::vector<Tensor> parts;  // of all sums
  for (Sum& sum : plan->sums) {
    for (int64_t part : sum.parts) parts.push_back(plan->Part(part));
    if (sum.owned) continue;
    TF_RETURN_IF_ERROR(ops.Allocate(dtype_, plan->block().shape(sum.parts.front()), &sum.fresh));
  }
  auto part = parts.cbegin();
  for (Sum& sum : plan->sums) {
    const auto end = part + static_cast<std::ptrdiff_t>(sum.parts.size());
    if (!sum.owned) {
      const Tensor first = sum.has_data ? sum.data : *part++;
      TF_RETURN_IF_ERROR(ops.Add(first, *part++, &sum.fresh));
      sum.data = std::move(sum.fresh);
    }
    for (; part != end; ++part) TF_RETURN_IF_ERROR(ops.Add(sum.data, *part, &sum.data));
  }
  return absl::OkStatus();
}

void ArrayStore::ReturnSlots(const WritePlan& plan) {
  for (int64_t i = 0; i < plan.block().parts(); ++i) SetBusy(slots_.Find(plan.index(i)), false);
}

void ArrayStore::CommitWrites(WritePlan* plan) {
  ++version_;
  if (plan->split && !accumulate_) marked_size_ = plan->block().parts();
  plan->shapes.Commit();
  SetElementShape(std::move(plan->element_shape));
  size_ = std::max(size_, plan->size);  // a read of a gradient array may have grown it
  Block* block = &plan->block();
  blocks_.splice(blocks_.end(), plan->blocks);
  block->self = std::prev(blocks_.end());
  block->live = 1;  // this call's reference: a slot named twice drops the part that it got first
  for (int64_t i = 0; i < block->parts(); ++i) {
    const int64_t index = plan->index(i);
    Slot* slot = slots_.Find(index);
    if (plan->FindSum(index) != nullptr) continue;
    if (slot->state == State::kWritten) DropData(slot);  // an element without values
    slot->block = block;
    slot->part = static_cast<int32_t>(i);
    slot->state = State::kWritten;
    ++block->live;
  }
  for (Sum& sum : plan->sums) {
    Slot* slot = slots_.Find(sum.index);
    if (slot->block != nullptr) DropData(slot);
    std::swap(slot->value, sum.data);  // the old value is freed with the plan, unlocked
    slot->state = State::kWritten;
    slot->owned = true;
  }
  if (--block->live == 0) blocks_.erase(block->self);
}

}  // namespace tensor_array_grad
