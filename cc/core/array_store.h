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

// What an array is when it is made.
struct ArrayOptions {
  std::string name;  // short: for messages
  tensorflow::DataType dtype = tensorflow::DT_FLOAT;
  tensorflow::PartialTensorShape element_shape;  // default: unknown rank
  int64_t size = 0;
  bool dynamic_size = false;
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  bool accumulate = false;   // writes to one index are summed: a gradient array
  int order = 0;             // 1: collects gradients; 2: the gradients of those; ...
  int64_t marked_size = -1;  // the pieces that concat joins in a gradient array; -1: all slots
  std::shared_ptr<SlotShapes> shapes;  // null: the store makes its own
};

// The slots of one tensor array and the rules for filling and emptying them.
//
// Thread-safe. Every method either does what it says or returns an error and has changed nothing.
// The error is ResourceExhausted where an ElementOps has no memory for values, and std::bad_alloc,
// thrown by any method, where there is none for the store's own records; no slot stays busy.
// (Shapes of more than six dimensions, or of large ones, are an exception: TensorFlow's TensorShape
// cannot be assigned safely when memory for it runs out.)
// `mu_` guards the slots' states; it is never held over an allocation of unbounded size, device
// work, or the destruction of a tensor. So a method that computes has three steps: look (locked),
// compute (unlocked), commit (locked) - and looks again where others changed the slots meanwhile.
// A sum in place marks its slot `busy` instead: whoever needs that slot, and nobody else, waits.
//
// Device work goes through an ElementOps, which must not call back. Knows no kernel, resource
// manager or stream. Sizes and indices are 64-bit here; an array has at most 2^31 - 1 slots.
// Memory is taken by slots that were touched, not by size.
class ArrayStore {
 public:
  // Requires: 0 <= options.size < 2^31.
  explicit ArrayStore(ArrayOptions options);
  ~ArrayStore();
  ArrayStore(const ArrayStore&) = delete;
  ArrayStore& operator=(const ArrayStore&) = delete;

  // Puts `value` at `index`; an accumulating store adds it to what is there. O(1) slots.
  //
  // The store shares `value`'s buffer. `exclusive` says that nobody else holds it, so that later
  // sums may be made in it; else the first sum goes to a buffer of the store's own.
  // Errors: closed; index out of range and not growable; shape; already read; already written.
  absl::Status Write(int64_t index, tensorflow::Tensor value, bool exclusive, ElementOps& ops)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Sets `value` to the element at `index`, or to zeros if none was written and the shape is known.
  // No values are copied, but for a part of a block that is not aligned. Clears the slot if
  // clear_after_read; in any case it refuses writes from then on. O(1) slots.
  absl::Status Read(int64_t index, ElementOps& ops, tensorflow::Tensor* value)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Stacks the elements at `indices` into `value`, of shape [indices.size()] + element shape, and
  // merges `element_shape` into the array's. A run of parts of one block is returned as the block,
  // or a slice of it; anything else is copied. Reads each slot as Read does. O(indices).
  absl::Status Gather(absl::Span<const int32_t> indices,
                      const tensorflow::PartialTensorShape& element_shape, ElementOps& ops,
                      tensorflow::Tensor* value) ABSL_LOCKS_EXCLUDED(mu_);

  // Writes value[i] to indices[i] for all i, as Write does, or none of them. Keeps a reference to
  // `value` and copies nothing but what has to be summed. O(indices).
  absl::Status Scatter(absl::Span<const int32_t> indices, const tensorflow::Tensor& value,
                       ElementOps& ops) ABSL_LOCKS_EXCLUDED(mu_);

  // Joins the elements of all slots (of the first marked_size, in a gradient array) along
  // dimension 0 and sets `lengths` to the dimension 0 of each. Reads each slot as Read does.
  absl::Status Concat(const tensorflow::PartialTensorShape& element_shape_except0, ElementOps& ops,
                      tensorflow::Tensor* value, std::vector<int64_t>* lengths)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Writes consecutive pieces of `value`, of lengths[i] along dimension 0, to slots 0, 1, ..., as
  // Scatter does, and marks the size for the Concat of gradient arrays to be made.
  absl::Status Split(const tensorflow::Tensor& value, absl::Span<const int64_t> lengths,
                     ElementOps& ops) ABSL_LOCKS_EXCLUDED(mu_);

  // The number of slots. Error: closed.
  absl::Status Size(int64_t* size) const ABSL_LOCKS_EXCLUDED(mu_);

  // Drops all elements, at once; every later call but Close and an empty Gather is an error.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);

  // Fixes the size for good and describes the array of this one's gradients: as many slots,
  // `prefix` in front of the element shape, summing. Its name is the caller's to fill in. O(1).
  // Errors, with the size not fixed: closed; the joined element shape is too large; kMaxOrder.
  absl::Status Freeze(const tensorflow::TensorShape& prefix, ArrayOptions* gradient)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Errors of dtype, for kernels that check the dtype before anything else of the call.
  absl::Status CheckWriteDtype(tensorflow::DataType got) const;
  absl::Status CheckReadDtype(tensorflow::DataType got) const;

  const std::string& name() const { return name_; }
  tensorflow::DataType dtype() const { return dtype_; }
  bool accumulates() const { return accumulate_; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  // Closed() as an error.
  absl::Status CheckOpen() const;
  int64_t size() const ABSL_LOCKS_EXCLUDED(mu_);
  // Bytes of the elements held, each buffer counted once a slot or block. O(slots touched).
  int64_t TotalBytes() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // What a bulk read asks for and what it found: the result's shape and the runs that make it.
  struct ReadPlan;
  // What a bulk write will do: a block, the slot of each part, and the sums on the way.
  struct WritePlan;
  using Planner = absl::Status (ArrayStore::*)(ReadPlan*) const;

  // -- array_store.cc: one slot --
  void SetBusy(Slot* slot, bool busy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AwaitIdle(int64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Checks all that a read of slot `index` checks, and tells what it yields. `element_shape` is the
  // array's, or what the read is about to make of it.
  absl::Status Inspect(int64_t index, const tensorflow::PartialTensorShape& element_shape,
                       Element* element) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status InspectZeros(int64_t index, const tensorflow::PartialTensorShape& element_shape,
                            Element* element) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Marks slot `index` as read. Needs memory only where the slot has none.
  void CommitRead(int64_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes the tensor of an element that can not be handed out as it is. Called unlocked.
  absl::Status Materialize(const Piece& piece, const tensorflow::TensorShape& shape,
                           ElementOps& ops, tensorflow::Tensor* value) const;

  // -- array_store.cc: what a write checks, in this order --
  absl::Status CheckWriteIndex(int64_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckElementShape(int64_t index, const tensorflow::TensorShape& shape,
                                 const tensorflow::PartialTensorShape& element_shape) const;
  // Whether the next value written fixes the element shape for all.
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
  // Frees what a closed or dying array has held, however deeply that nests.
  void FreeElements(const SparseVector<Slot>& slots, std::list<Block>* blocks) const;
  // Frees the slot's data; somebody else must hold its buffer, so that nothing is destroyed here.
  void DropData(Slot* slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetElementShape(tensorflow::PartialTensorShape shape) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // -- bulk_read.cc --
  absl::Status PlanGather(ReadPlan* plan) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status PlanConcat(ReadPlan* plan) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `attribute` and `doing` are for the message.
  absl::Status PlanEmpty(absl::string_view attribute, absl::string_view doing,
                         const tensorflow::PartialTensorShape& known, ReadPlan* plan) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Plans under the lock until no slot of the plan is busy.
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
  CondVar idle_;  // a slot ceased to be busy, or the array was closed
  tensorflow::PartialTensorShape element_shape_ ABSL_GUARDED_BY(mu_);
  bool element_shape_known_ ABSL_GUARDED_BY(mu_);  // element_shape_.IsFullyDefined()
  int64_t size_ ABSL_GUARDED_BY(mu_);
  bool dynamic_size_ ABSL_GUARDED_BY(mu_);
  int64_t marked_size_ ABSL_GUARDED_BY(mu_);
  int64_t busy_ ABSL_GUARDED_BY(mu_) = 0;      // slots that a call has leased
  uint64_t version_ ABSL_GUARDED_BY(mu_) = 0;  // of the slots: rises with every change
  SparseVector<Slot> slots_ ABSL_GUARDED_BY(mu_);
  std::list<Block> blocks_ ABSL_GUARDED_BY(mu_);  // those of which a slot is a part
};

// The most gradient arrays that can be gradients of one another: more is a loop gone wrong, and
// each takes a name longer than the last one's and a step of recursion in lookups of shapes.
inline constexpr int kMaxOrder = 100;

// The most slots that an array can have: indices and sizes are int32 in the ops.
inline constexpr int64_t kMaxSize = 2147483647;

}  // namespace tensor_array_grad

#endif  // CC_CORE_ARRAY_STORE_H_
