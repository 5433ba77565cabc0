#ifndef CC_CORE_ARRAY_STORE_H_
#define CC_CORE_ARRAY_STORE_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/core/element_ops.h"
#include "cc/core/mutex.h"
#include "cc/core/slot.h"
#include "cc/core/slot_shapes.h"
#include "cc/core/sparse_vector.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {

// The initial properties of an array.
struct ArrayOptions {
  std::string name;  // the short name, for messages
  tensorflow::DataType dtype = tensorflow::DT_FLOAT;
  tensorflow::PartialTensorShape element_shape;  // default: unknown rank
  int64_t size = 0;
  bool dynamic_size = false;
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  bool accumulate = false;             // writes to one index are summed: a gradient array
  int order = 0;                       // 1: collects gradients; 2: the gradients of those; ...
  int64_t marked_size = -1;            // how many slots concat joins in a gradient array; -1: all
  std::shared_ptr<SlotShapes> shapes;  // null: the store makes its own
};

// The slots of one tensor array and the rules for filling and emptying them.
//
// Thread-safe. A method that fails has changed nothing, and no slot stays busy. If an ElementOps
// has no memory for values, the method returns ResourceExhausted; if there is no memory for the
// store's own records, it throws std::bad_alloc, which any method may do. (Exception: a TensorShape
// of more than six dimensions, or of large ones, is unusable after an assignment that found no
// memory.)
//
// `mu_` guards the slots' states. It is held while the store allocates its own records, but never
// over an allocation of values, device work, or the destruction of a tensor. So a method that
// computes has three steps: look (locked), compute (unlocked), commit (locked). A read computes
// again if the slots it used have changed meanwhile. A sum may work in place, so it marks its slot
// `busy` instead; only calls that need that slot wait.
//
// Device work is done by an ElementOps, which must not call back. The class knows no kernel,
// resource manager or stream. Sizes and indices are 64-bit here; an array has at most 2^31 - 1
// slots. Memory grows with the slots that were touched, not with the size.
class ArrayStore {
 public:
  // Requires: 0 <= options.size < 2^31.
  explicit ArrayStore(ArrayOptions options);
  ~ArrayStore();
  ArrayStore(const ArrayStore&) = delete;
  ArrayStore& operator=(const ArrayStore&) = delete;

  // Puts `value` at `index`; an accumulating store adds it to the value already there. O(1) slots.
  //
  // The store shares `value`'s buffer. `exclusive`: no other tensor shares it, so that later sums
  // may be made in it; otherwise the first sum is made in a new buffer.
  // Errors: closed; index out of range and not growable; shape; slot already read; slot already
  // written (if not accumulating); a sum of a dtype that cannot be added.
  absl::Status Write(int64_t index, tensorflow::Tensor value, bool exclusive, ElementOps& ops)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Sets `value` to the element at `index`, or to zeros if none was written and the shape is known.
  // Copies no values, except those of a part of a block that is not aligned. Clears the slot if
  // clear_after_read; in any case later writes to the slot are errors. O(1) slots.
  absl::Status Read(int64_t index, ElementOps& ops, tensorflow::Tensor* value)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Stacks the elements at `indices` into `value`, of shape [indices.size()] + element shape, and
  // merges `element_shape` into the array's. Consecutive parts of one block are returned as the
  // block, or as a slice of it if that is aligned (see also KeepValues); elements of several
  // buffers are copied. Reads each slot as Read does. O(indices).
  absl::Status Gather(absl::Span<const int32_t> indices,
                      const tensorflow::PartialTensorShape& element_shape, ElementOps& ops,
                      tensorflow::Tensor* value) ABSL_LOCKS_EXCLUDED(mu_);

  // Writes value[i] to slot indices[i] for all i, as Write does; on error writes none. Shares
  // `value`'s buffer (see also KeepValues); only sums make new values. O(indices).
  absl::Status Scatter(absl::Span<const int32_t> indices, const tensorflow::Tensor& value,
                       ElementOps& ops) ABSL_LOCKS_EXCLUDED(mu_);

  // Joins the elements of all slots (in a gradient array: of the first marked_size slots) along
  // dimension 0 and sets `lengths` to each element's size in dimension 0. Reads each slot as Read
  // does.
  absl::Status Concat(const tensorflow::PartialTensorShape& element_shape_except0, ElementOps& ops,
                      tensorflow::Tensor* value, std::vector<int64_t>* lengths)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Writes consecutive pieces of `value`, of lengths[i] along dimension 0, to slots 0, 1, ..., as
  // Scatter does. A forward array also records the number of pieces as the marked_size of gradient
  // arrays that are made later.
  absl::Status Split(const tensorflow::Tensor& value, absl::Span<const int64_t> lengths,
                     ElementOps& ops) ABSL_LOCKS_EXCLUDED(mu_);

  // The number of slots. Error: closed.
  absl::Status Size(int64_t* size) const ABSL_LOCKS_EXCLUDED(mu_);

  // Drops all elements now. Every later call except Close and an empty Gather is an error.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  // Makes the size final and sets `gradient` to the options of this array's gradient array: as many
  // slots, `prefix` in front of the element shape, accumulating. The caller sets its name. O(1).
  // Errors, after which the size is not final: closed; the joined element shape is too large; the
  // order would exceed kMaxOrder.
  absl::Status Freeze(const tensorflow::TensorShape& prefix, ArrayOptions* gradient)
      ABSL_LOCKS_EXCLUDED(mu_);

  // An error unless `got` is the array's dtype. Kernels check it before the rest of the call.
  absl::Status CheckWriteDtype(tensorflow::DataType got) const;
  absl::Status CheckReadDtype(tensorflow::DataType got) const;

  const std::string& name() const { return name_; }
  tensorflow::DataType dtype() const { return dtype_; }
  bool accumulates() const { return accumulate_; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  // An error if closed().
  absl::Status CheckOpen() const;
  int64_t size() const ABSL_LOCKS_EXCLUDED(mu_);
  // Bytes of the elements held. A buffer is counted once per slot or block that refers to it.
  // O(slots touched).
  int64_t TotalBytes() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // A bulk read: its request, and the shape and the pieces of the result.
  struct ReadPlan;
  // A bulk write: the block, the slot of each part, and the sums that it needs.
  struct WritePlan;
  using Planner = absl::Status (ArrayStore::*)(ReadPlan*) const;

  // -- array_store.cc: one slot --
  void SetBusy(Slot* slot, bool busy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AwaitIdle(int64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Checks whether slot `index` can be read, and sets `element` to what the read yields.
  // `element_shape` is the array's, or the one that this read will give to the array.
  absl::Status Inspect(int64_t index, const tensorflow::PartialTensorShape& element_shape,
                       Element* element) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status InspectZeros(int64_t index, const tensorflow::PartialTensorShape& element_shape,
                            Element* element) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Marks slot `index` as read. Allocates only if there is no slot yet.
  void CommitRead(int64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sets `value` to `piece` in `shape`: an aligned view of it, or a new tensor. Called unlocked.
  absl::Status Materialize(const Piece& piece, const tensorflow::TensorShape& shape,
                           ElementOps& ops, tensorflow::Tensor* value) const;

  // -- array_store.cc: what a write checks, in this order --
  absl::Status CheckWriteIndex(int64_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckElementShape(int64_t index, const tensorflow::TensorShape& shape,
                                 const tensorflow::PartialTensorShape& element_shape) const;
  // Whether the next value written fixes the element shape of the whole array.
  bool FirstShapeCounts() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return identical_element_shapes_ && !element_shape_known_;
  }
  // Sets `sums` to whether the slot has data that the value has to be added to.
  absl::Status CheckSlot(int64_t index, const tensorflow::TensorShape& shape, bool* sums) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Slot* FindOrMakeSlot(int64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The slot's data as a tensor, perhaps an unaligned one.
  static tensorflow::Tensor DataOf(const Slot& slot);
  static tensorflow::TensorShape ShapeOf(const Slot& slot);
  // Frees the elements of an array that is closed or destroyed, nested to any depth (release.h).
  void FreeElements(const SparseVector<Slot>& slots, std::list<Block>* blocks) const;
  // Drops the slot's data. Requires: the data has no values, or another tensor shares its buffer,
  // so that no buffer is freed under the lock.
  void DropData(Slot* slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetElementShape(tensorflow::PartialTensorShape shape) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // -- bulk_read.cc --
  absl::Status PlanGather(ReadPlan* plan) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status PlanConcat(ReadPlan* plan) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `attribute` and `doing` are for the message.
  absl::Status PlanEmpty(absl::string_view attribute, absl::string_view doing,
                         const tensorflow::PartialTensorShape& known, ReadPlan* plan) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Runs `planner` again, after waiting, until no slot of the plan is busy.
  absl::Status PlanWhenIdle(Planner planner, ReadPlan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadMany(Planner planner, ReadPlan* plan, ElementOps& ops, tensorflow::Tensor* value)
      ABSL_LOCKS_EXCLUDED(mu_);
  void CommitReads(ReadPlan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // -- bulk_write.cc --
  absl::Status WriteMany(WritePlan* plan, ElementOps& ops) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status CheckSplitSize(int64_t pieces) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckScatterIndices(absl::Span<const int32_t> indices) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckWrites(WritePlan* plan) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AnyBusy(const WritePlan& plan) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PrepareSlots(WritePlan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LeaseSlots(WritePlan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ComputeSums(WritePlan* plan, ElementOps& ops) const;
  void ReturnSlots(const WritePlan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CommitWrites(WritePlan* plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string name_;
  const tensorflow::DataType dtype_;
  const bool clear_after_read_;
  const bool identical_element_shapes_;
  const bool accumulate_;
  const int order_;
  const std::shared_ptr<SlotShapes> shapes_;
  std::atomic<bool> closed_{false};  // written under mu_, read anywhere

  mutable Mutex mu_;
  CondVar idle_;  // signalled when a slot is no longer busy, or the array is closed
  tensorflow::PartialTensorShape element_shape_ ABSL_GUARDED_BY(mu_);
  bool element_shape_known_ ABSL_GUARDED_BY(mu_);  // element_shape_.IsFullyDefined()
  int64_t size_ ABSL_GUARDED_BY(mu_);
  bool dynamic_size_ ABSL_GUARDED_BY(mu_);
  int64_t marked_size_ ABSL_GUARDED_BY(mu_);
  int64_t busy_ ABSL_GUARDED_BY(mu_) = 0;      // number of busy slots
  uint64_t version_ ABSL_GUARDED_BY(mu_) = 0;  // rises with every change of a slot
  SparseVector<Slot> slots_ ABSL_GUARDED_BY(mu_);
  std::list<Block> blocks_ ABSL_GUARDED_BY(mu_);  // the blocks that slots refer to
};

// The highest order of a gradient array; a program that asks for a higher one is taken to be in an
// endless loop. Each order makes the name longer and adds a level of recursion to shape lookups.
inline constexpr int kMaxOrder = 100;

// The most slots that an array can have: the ops have int32 indices and sizes.
inline constexpr int64_t kMaxSize = 2147483647;

}  // namespace tensor_array_grad

#endif  // CC_CORE_ARRAY_STORE_H_
