#ifndef CC_ARRAY_BULK_WRITE_H_
#define CC_ARRAY_BULK_WRITE_H_

#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/array/slot_table.h"
#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// One scatter or split: a write of the parts of one block to as many slots, all of them or none. It
// is made by Check, Compute and Commit, with the table locked all the time. Destroy it after the
// lock has been released, because it may have the last references to what the slots held.
class BulkWrite {
 public:
  // ArrayStore::Scatter: row i of `value` is written to slot indices[i].
  // Requires: as many indices as rows; `indices` outlives this object.
  BulkWrite(Tensor value, absl::Span<const int32_t> indices) : indices_(indices) {
    block_.emplace_back(std::move(value));
  }
  // ArrayStore::Split: part i is written to slot i. `starts`: see Block.
  BulkWrite(Tensor value, std::vector<int64_t> starts) {
    block_.emplace_back(std::move(value), std::move(starts));
  }

  // Returns the error that the user sees. If there is none, takes all memory that Commit needs.
  absl::Status Check(SlotTable* table);

  // Makes the sums. If ElementOps::Add fails, those that were made in place remain.
  absl::Status Compute(ElementOps& ops);

  // Changes the slots. Needs no memory.
  void Commit(SlotTable* table);

 private:
  // The sum that the write makes for one slot.
  struct Sum {
    int64_t index = 0;            // of the slot
    Tensor data;                  // of the slot, if it has any; Compute: the sum
    bool owned = false;           // `data` may be changed in place
    std::vector<Tensor> addends;  // the parts of the block that are written to the slot
    Tensor fresh;                 // the buffer for the first sum, unless `owned`; Compute: old data
  };

  const Block& block() const { return block_.front(); }
  // The index of the slot to which part `i` of the block is written.
  int64_t index(int64_t i) const { return block().stacked() ? indices_[i] : i; }

  // Checks the arguments of the call, before the indices of the parts are checked.
  absl::Status CheckScatter(const SlotTable& table) const;
  absl::Status CheckSplit(const SlotTable& table) const;
  absl::Status CheckParts(const SlotTable& table);
  // Sets sums_ to one Sum without data per distinct slot in `slots`, with its addends.
  void MakeSums(std::vector<int64_t> slots);
  Sum* FindSum(int64_t index);
  // Calls visit(first slot, number of slots, shape) for each range of parts of one shape that are
  // written to consecutive slots.
  template <typename Visit>
  void ForEachRange(Visit visit) const;

  std::list<Block> block_;                   // exactly one, until Commit moves it to the table
  const absl::Span<const int32_t> indices_;  // scatter

  // What Check found.
  PartialTensorShape element_shape_;  // of the array, afterwards
  int64_t size_ = 0;                  // of the array, afterwards
  std::vector<Sum> sums_;             // rising by index
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_BULK_WRITE_H_
