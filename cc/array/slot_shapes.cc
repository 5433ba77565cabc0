#include "cc/array/slot_shapes.h"

#include <algorithm>
#include <utility>

namespace tensor_array_grad {

void SlotShapes::MakeRoom(int64_t begin, int64_t count, size_t shapes) {
  MutexLock lock(&mu_);
  const size_t needed = shapes_.size() + shapes;
  if (needed > shapes_.capacity()) shapes_.reserve(std::max(needed, 2 * shapes_.capacity()));
  for (int64_t i = begin; i < begin + count; ++i) {
    entries_.FindOrMake(i, /*length=*/begin + count);
  }
}

void SlotShapes::Record(int64_t begin, int64_t count, const TensorShape& shape) {
  MakeRoom(begin, count, 0);
  MutexLock lock(&mu_);
  bool listed = !shapes_.empty() && shapes_.back().shape == shape;
  for (int64_t i = begin; i < begin + count; ++i) {
    Entry* slot = entries_.Find(i);
    if (slot->epoch != 0) continue;
    if (!listed) shapes_.push_back({shape, now_});  // the last statement that may throw
    listed = true;
    *slot = {now_, static_cast<uint32_t>(shapes_.size() - 1)};
  }
}

SlotShapes::Epoch SlotShapes::Freeze() {
  MutexLock lock(&mu_);
  return now_ == kNow - 1 ? now_ : now_++;
}

absl::Status SlotShapes::Find(int64_t index, Epoch epoch, bool* found, TensorShape* shape) const {
  {
    MutexLock lock(&mu_);
    const Entry* entry = entries_.Find(index);
    *found = entry != nullptr && entry->epoch != 0 && entry->epoch <= epoch;
    if (*found) *shape = shapes_[entry->shape].shape;
  }
  if (*found || base_ == nullptr) return absl::OkStatus();
  TensorShape below;
  absl::Status status = base_->Find(index, base_epoch_, found, &below);
  if (!status.ok() || !*found) return status;
  *shape = prefix_;
  return shape->AppendShapeWithStatus(below);
}

std::optional<TensorShape> SlotShapes::Common(Epoch epoch) const {
  std::optional<TensorShape> common;
  return HaveCommon(epoch, &common) ? common : std::nullopt;
}

bool SlotShapes::HaveCommon(Epoch epoch, std::optional<TensorShape>* common) const {
  if (base_ != nullptr) {
    std::optional<TensorShape> below;
    if (!base_->HaveCommon(base_epoch_, &below)) return false;
    if (below.has_value()) {
      *common = prefix_;
      if (!(*common)->AppendShapeWithStatus(*below).ok()) return false;
    }
  }
  MutexLock lock(&mu_);
  if (shapes_.empty() || shapes_[0].since > epoch) return true;
  if (shapes_.size() > 1 && shapes_[1].since <= epoch) return false;
  if (common->has_value() && **common != shapes_[0].shape) return false;
  *common = shapes_[0].shape;
  return true;
}

}  // namespace tensor_array_grad
