#ifndef CC_ARRAY_BULK_WRITE_H_
#define CC_ARRAY_BULK_WRITE_H_

#include <cstdint>
#include <list>
#include <vector>

#include "absl/types/span.h"
#include "cc/array/slot_access.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// A write of the parts of one block to as many slots. All parts are written or none.
class BulkWrite : public SlotAccess {
 public:
  absl::Status Look(SlotTable* table, Next* next) final;
  absl::Status Compute(ElementOps& ops) final;
  void Commit(SlotTable* table) override;

 protected:
  explicit BulkWrite(Block block, SlotShapes* shapes) : shapes_(*shapes) {
    blocks_.push_back(std::move(block));
  }

  const Block& block() const { return blocks_.front(); }
  // The index of the slot to which part `i` of the block is written.
  virtual int64_t index(int64_t i) const = 0;
  // Checks the arguments of the call, before the indices of the parts are checked.
  virtual absl::Status CheckRequest(const SlotTable& table) const = 0;

 private:
  // The sum that the write makes for one slot: the slot's data, if it has any, and the parts of the
  // block that are written to the slot.
  struct Sum {
    int64_t index = 0;  // of the slot
    Tensor data;
    Tensor fresh;        // the buffer for the first sum, unless `owned`
    bool owned = false;  // `data` may be changed in place
    std::vector<int64_t> parts;
  };

  absl::Status CheckParts(const SlotTable& table);
  bool AnyBusy(const SlotTable& table) const;
  // Takes all memory that Commit needs, so that it cannot fail.
  void PrepareSlots(SlotTable* table);
  // Sets sums_ to one Sum without data per distinct slot in `slots`, with its parts.
  void MakeSums(std::vector<int64_t> slots);
  Sum* FindSum(int64_t index);
  void SetBusy(SlotTable* table, bool busy) override;

  std::list<Block> blocks_;  // exactly one; Commit moves it to the table

  // What Look found.
  DataType dtype_ = DT_INVALID;
  PartialTensorShape element_shape_;  // of the array, afterwards
  int64_t size_ = 0;                  // of the array, afterwards
  std::vector<Sum> sums_;             // rising by index
  SlotShapes::Recording shapes_;
};

// ArrayStore::Scatter: row i of the block is written to slot indices[i].
class ScatterWrite final : public BulkWrite {
 public:
  // Requires: as many indices as rows.
  ScatterWrite(Tensor value, absl::Span<const int32_t> indices, SlotShapes* shapes)
      : BulkWrite(Block(std::move(value)), shapes), indices_(indices) {}

 private:
  int64_t index(int64_t i) const override { return indices_[i]; }
  absl::Status CheckRequest(const SlotTable& table) const override;

  const absl::Span<const int32_t> indices_;
};

// ArrayStore::Split: part i of the block is written to slot i.
class SplitWrite final : public BulkWrite {
 public:
  SplitWrite(Tensor value, std::vector<int64_t> starts, SlotShapes* shapes)
      : BulkWrite(Block(std::move(value), std::move(starts)), shapes) {}

  void Commit(SlotTable* table) override;

 private:
  int64_t index(int64_t i) const override { return i; }
  absl::Status CheckRequest(const SlotTable& table) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_BULK_WRITE_H_
