#ifndef CC_ARRAY_ELEMENT_ACCESS_H_
#define CC_ARRAY_ELEMENT_ACCESS_H_

#include <cstdint>
#include <utility>

#include "cc/array/slot_access.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// ArrayStore::Read: one element.
class ElementRead final : public SlotAccess {
 public:
  explicit ElementRead(int64_t index) : index_(index) {}

  absl::Status Look(SlotTable* table, Next* next) override;
  absl::Status Compute(ElementOps& ops) override;
  void Commit(SlotTable* table) override { table->CommitRead(index_); }

  // The element. Requires: Commit was called.
  Tensor TakeValue() { return std::move(whole_ ? piece_.source : made_); }

 private:
  const int64_t index_;
  bool whole_ = false;  // the result is piece_.source itself; else it is made_
  Piece piece_, previous_;
  DataType dtype_ = DT_INVALID;
  TensorShape shape_;
  uint64_t version_ = 0;  // of the table that piece_ and shape_ are from
  Tensor made_;
};

// ArrayStore::Write: puts a value into an empty slot, or adds it to the slot's data.
class ElementWrite final : public SlotAccess {
 public:
  ElementWrite(int64_t index, Tensor value, bool exclusive)
      : index_(index), value_(std::move(value)), exclusive_(exclusive) {}

  absl::Status Look(SlotTable* table, Next* next) override;
  absl::Status Compute(ElementOps& ops) override;
  void Commit(SlotTable* table) override;

 private:
  void SetBusy(SlotTable* table, bool busy) override { table->SetBusy(index_, busy); }

  const int64_t index_;
  Tensor value_;
  bool exclusive_;  // no other tensor shares value_'s buffer
  bool sums_ = false;
  Tensor data_;         // of the slot, then the sum
  bool owned_ = false;  // no other tensor shares data_'s buffer
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_ELEMENT_ACCESS_H_
