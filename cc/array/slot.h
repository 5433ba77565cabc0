#ifndef CC_ARRAY_SLOT_H_
#define CC_ARRAY_SLOT_H_

#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// The value of one scatter or split; slots refer to its parts. Because the value is kept whole,
// unstack copies nothing, and neither does a stack of consecutive parts.
class Block {
 public:
  // For scatter: part i is value[i]. Requires: value has rank >= 1.
  explicit Block(Tensor value) : value_(std::move(value)) { Init(); }

  // For split: part i is value[starts[i] : starts[i + 1]]. Requires: rank >= 1; `starts` has one
  // entry more than there are parts, rises from 0 and ends with value's dim 0.
  Block(Tensor value, std::vector<int64_t> starts)
      : value_(std::move(value)), starts_(std::move(starts)) {
    Init();
  }

  const Tensor& value() const { return value_; }
  // Moves the value out, to be freed. The block must not be used afterwards.
  Tensor TakeValue() { return std::move(value_); }
  bool stacked() const { return starts_.empty(); }
  int64_t parts() const {
    return stacked() ? value_.dim_size(0) : static_cast<int64_t>(starts_.size()) - 1;
  }

  // Part i: its first value in `value`, its number of values, and its shape.
  int64_t begin(int64_t i) const { return (stacked() ? i : starts_[i]) * row_values_; }
  int64_t count(int64_t i) const {
    return stacked() ? row_values_ : (starts_[i + 1] - starts_[i]) * row_values_;
  }
  TensorShape shape(int64_t i) const {
    if (stacked()) return row_shape_;
    TensorShape shape = value_.shape();
    shape.set_dim(0, starts_[i + 1] - starts_[i]);
    return shape;
  }
  // Part i itself, which shares the buffer of `value`.
  Tensor view(int64_t i) const { return ViewOf({value_, begin(i), count(i)}, shape(i)); }

  // Maintained by the SlotTable: how many slots refer to the block, and its position in the table's
  // list.
  int64_t live = 0;
  std::list<Block>::iterator self;

 private:
  void Init() {
    row_shape_ = value_.shape();
    row_shape_.RemoveDim(0);
    row_values_ = row_shape_.num_elements();
  }

  Tensor value_;
  std::vector<int64_t> starts_;  // empty when stacked
  TensorShape row_shape_;
  int64_t row_values_ = 0;
};

// One element of an array and its state.
//
//                write            sum               read            clear-after-read
//   Empty ------------> Written -------> Written --------> Read      or      Cleared
//     `---------------------- read of a zero ------------^
//
// Only a Written or Read slot has data: a tensor of its own, or a part of a block. A Read slot that
// was never written has no data but `zeros` set; each read of it makes new zeros.
struct Slot {
  enum class State : uint8_t { kEmpty, kWritten, kRead, kCleared };

  Tensor value;
  Block* block = nullptr;  // set: the data is part `part` of it, and `value` is unused
  int32_t part = 0;
  State state = State::kEmpty;
  bool owned = false;  // no other tensor shares `value`'s buffer: a sum may be made in place
  bool zeros = false;  // read, but never written
};

// What a read of one slot yields. The pointer is valid while the store's lock is held.
struct Element {
  const Tensor* source = nullptr;  // null: zeros
  int64_t begin = 0;
  int64_t count = 0;
  TensorShape shape;

  Piece piece() const { return {source == nullptr ? Tensor() : *source, begin, count}; }
};

}  // namespace tensor_array_grad

#endif  // CC_ARRAY_SLOT_H_
