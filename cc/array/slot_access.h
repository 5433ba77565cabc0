#ifndef CC_ARRAY_SLOT_ACCESS_H_
#define CC_ARRAY_SLOT_ACCESS_H_

#include "absl/status/status.h"
#include "cc/array/slot_table.h"
#include "cc/base/element_ops.h"

namespace tensor_array_grad {

// One call that reads or writes slots, in the steps that ArrayStore::Run makes:
//
//   Look ---> Compute ---> Look ---> Commit
//     |  ^                  |
//     |  '---- (again) -----'
//     '-----------------------------> Commit
//
// Look and Commit are called with the store's lock held: they make no values and free none. So an
// object keeps the tensors that a later Look replaces until Compute, or until it is destroyed.
// Compute is called without the lock and does all work on values.
//
// Meanwhile the slots may change. A read lets that happen: its second Look compares what it finds
// with what was computed. A write that sums takes a lease instead, because it may change a buffer
// in place: it marks its slots busy in Look, and other calls that need them wait.
class SlotAccess {
 public:
  enum class Next { kWait, kCompute, kCommit };

  virtual ~SlotAccess() = default;

  // Checks the call against the present state and sets `next` to what follows: wait until a slot
  // is idle again and look again, Compute and look again, or Commit. An error, or std::bad_alloc,
  // ends the call; no slot has changed then, and no lease was taken.
  virtual absl::Status Look(SlotTable* table, Next* next) = 0;

  // An error, or an exception, ends the call.
  virtual absl::Status Compute(ElementOps& ops) = 0;

  // Changes the slots. Can fail only with std::bad_alloc, and has then changed nothing.
  virtual void Commit(SlotTable* table) = 0;

  bool has_lease() const { return has_lease_; }
  // Makes the leased slots idle. Called with the store's lock held, before the second Look or after
  // a Compute that failed. Requires: has_lease().
  void EndLease(SlotTable* table) {
    has_lease_ = false;
    SetBusy(table, false);
  }

 protected:
  // Marks the slots of this call busy. Requires: all of them were made.
  void TakeLease(SlotTable* table) {
    has_lease_ = true;
    SetBusy(table, true);
  }

  bool computed_ = false;  // set by Compute

 private:
  // Sets the mark of all slots of this call. A call that takes no lease need not override it.
  virtual void SetBusy(SlotTable* /*table*/, bool /*busy*/) {}

  bool has_lease_ = false;
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_SLOT_ACCESS_H_
