#ifndef CC_ARRAY_SLOT_TABLE_H_
#define CC_ARRAY_SLOT_TABLE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "cc/array/slot.h"
#include "cc/array/slot_shapes.h"
#include "cc/array/sparse_vector.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// The initial properties of an array.
struct ArrayOptions {
  std::string name;  // the short name, for messages
  DataType dtype = DT_FLOAT;
  PartialTensorShape element_shape;  // default: unknown rank
  int64_t size = 0;
  bool dynamic_size = false;
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  bool accumulate = false;  // writes to one index are summed: a gradient array
  int order = 0;            // 1: collects gradients; 2: the gradients of those; ...
  // The number of pieces of the last split into the forward array: concat of its gradient array
  // joins only so many slots. -1: there was no split, so that it joins all.
  int64_t marked_size = -1;
  std::shared_ptr<SlotShapes> shapes;  // null: the array gets its own
};

// The highest order of a gradient array; a program that asks for a higher one is assumed to be in
// an endless loop. Each order makes the name longer and adds a level of recursion to shape lookups.
inline constexpr int kMaxOrder = 100;

// The most slots that an array can have: the ops have int32 indices and sizes.
inline constexpr int64_t kMaxSize = 2147483647;

// The elements of an array. The destructor frees them, nested to any depth (release.h).
struct SlotContents {
  explicit SlotContents(DataType of) : dtype(of) {}
  SlotContents(const SlotContents&) = delete;
  SlotContents& operator=(const SlotContents&) = delete;
  ~SlotContents();

  const DataType dtype;
  SparseVector<Slot> slots;
  std::list<Block> blocks;  // the blocks that slots refer to
};

// The slots of one tensor array as a state machine: which reads and writes the present state
// allows, and what each of them changes. It takes no lock and makes no values. ArrayStore guards it
// and has the calls that are composed of these steps.
//
// Most methods either check (const, return the error that the user sees) or change (void). What a
// change requires has been checked before, under the same lock. If there is no memory for its
// records, a method throws std::bad_alloc and has changed nothing. Put, PutPart, TakeOver and Close
// need no memory.
//
// No method frees what a slot holds, because the lock is held: a caller of CommitRead or Put has
// another reference to the slot's data, of which it lets go after it has released the lock.
class SlotTable {
 public:
  // Requires: 0 <= options.size < 2^31, options.shapes is set; `options` outlives the table.
  explicit SlotTable(const ArrayOptions& options);

  const ArrayOptions& options() const { return options_; }
  bool closed() const { return closed_; }
  int64_t size() const { return size_; }
  bool dynamic_size() const { return dynamic_size_; }
  const PartialTensorShape& element_shape() const { return element_shape_; }
  // How many slots concat joins: all, or in a gradient array the marked ones.
  int64_t joined_size() const {
    return options_.accumulate && marked_size_ >= 0 ? marked_size_ : size_;
  }
  int64_t TotalBytes() const;

  // -- checks of a write, in this order --
  absl::Status CheckOpen() const;
  absl::Status CheckWriteIndex(int64_t index) const;
  // `element_shape` is the array's, or the one that this write will give to the array.
  absl::Status CheckElementShape(int64_t index, const TensorShape& shape,
                                 const PartialTensorShape& element_shape) const;
  // Sets `sums` to whether the slot has data that the value has to be added to.
  absl::Status CheckSlot(int64_t index, const TensorShape& shape, bool* sums) const;
  // Whether the next value written fixes the element shape of the whole array.
  bool FirstShapeCounts() const {
    return options_.identical_element_shapes && !element_shape_known_;
  }

  // Checks whether slot `index` can be read, and sets `element` to what the read yields.
  // `element_shape` is the array's, or the one that this read will give to the array.
  absl::Status Inspect(int64_t index, const PartialTensorShape& element_shape,
                       Element* element) const;

  // -- changes --
  // Makes slot `index`. `size`: the size that the array will have when the write is committed; this
  // method does not change it.
  // Requires: index < size.
  void Make(int64_t index, int64_t size) { contents_.slots.FindOrMake(index, size); }
  // Marks slot `index` as read, and makes it if it is missing.
  // Requires: the caller shares the slot's data, if there is any.
  void CommitRead(int64_t index);
  // What a sum for slot `index` starts from: the data, perhaps unaligned, and whether the sum may
  // be made in its buffer. No values if the slot is empty. Requires: the slot was made.
  Tensor DataOf(int64_t index, bool* owned) const;
  // Records the shape of the value that is about to be put into a slot without data.
  void RecordShape(int64_t index, const TensorShape& shape);
  // Swaps `data` with the slot's data. `owned`: no other tensor shares data's buffer.
  // Requires: the slot was made; the caller shares its data, if there is any (DataOf).
  void Put(int64_t index, Tensor* data, bool owned);
  // Makes part `part` of `block` the slot's data, unless the slot has data. TakeOver must follow.
  // Requires: the slot was made; it and the part have no values if it has data.
  void PutPart(int64_t index, Block* block, int64_t part);
  // Moves the only block of `block` here if slots refer to it.
  void TakeOver(std::list<Block>* block);
  void SetElementShape(PartialTensorShape shape);
  void set_marked_size(int64_t size) { marked_size_ = size; }
  // Moves all elements to `contents`, to be freed unlocked.
  // Requires: `contents` is empty.
  void Close(SlotContents* contents);

  // As ArrayStore::Freeze.
  absl::Status Freeze(const TensorShape& prefix, ArrayOptions* gradient);

 private:
  absl::Status InspectZeros(int64_t index, const PartialTensorShape& element_shape,
                            Element* element) const;
  // Drops the slot's data. Requires: another tensor shares its buffer.
  void DropData(Slot* slot);

  const ArrayOptions& options_;
  PartialTensorShape element_shape_;
  bool element_shape_known_;  // element_shape_.IsFullyDefined()
  int64_t size_;
  bool dynamic_size_;
  int64_t marked_size_;
  bool closed_ = false;
  SlotContents contents_;
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_SLOT_TABLE_H_
