#include "cc/core/array_store.h"

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "cc/core/errors.h"
#include "cc/core/release.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {

using tensorflow::DataType;
using tensorflow::PartialTensorShape;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using State = Slot::State;

namespace {

bool Compatible(const PartialTensorShape& partial, const TensorShape& shape) {
  if (partial.unknown_rank()) return true;
  if (partial.dims() != shape.dims()) return false;
  for (int d = 0; d < shape.dims(); ++d) {
    const int64_t dim = partial.dim_size(d);
    if (dim >= 0 && dim != shape.dim_size(d)) return false;
  }
  return true;
}

// *data += value. Works in the buffer of `data` if no other tensor shares it (`*exclusive`), else
// in the buffer of `value` if no other tensor shares that one (`value_exclusive`), else in a new
// buffer. On success `*exclusive` is true.
absl::Status SumUp(const Tensor& value, bool value_exclusive, ElementOps& ops, Tensor* data,
                   bool* exclusive) {
  if (*exclusive) return ops.Add(*data, value, data);
  Tensor sum = value;
  if (value_exclusive) {
    TF_RETURN_IF_ERROR(ops.Add(sum, *data, &sum));
  } else {
    sum = Tensor();
    TF_RETURN_IF_ERROR(ops.Allocate(data->dtype(), data->shape(), &sum));
    TF_RETURN_IF_ERROR(ops.Add(*data, value, &sum));
  }
  *data = std::move(sum);
  *exclusive = true;
  return absl::OkStatus();
}

}  // namespace

ArrayStore::ArrayStore(ArrayOptions options)
    : name_(std::move(options.name)),
      dtype_(options.dtype),
      clear_after_read_(options.clear_after_read),
      identical_element_shapes_(options.identical_element_shapes),
      accumulate_(options.accumulate),
      order_(options.order),
      shapes_(options.shapes != nullptr ? std::move(options.shapes)
                                        : std::make_shared<SlotShapes>()),
      element_shape_(std::move(options.element_shape)),
      element_shape_known_(element_shape_.IsFullyDefined()),
      size_(options.size),
      dynamic_size_(options.dynamic_size),
      marked_size_(options.marked_size) {}

ArrayStore::~ArrayStore() { FreeElements(slots_, &blocks_); }

// ---- checks ---------------------------------------------------------------------------------

absl::Status ArrayStore::CheckWriteDtype(DataType got) const {
  return got == dtype_ ? absl::OkStatus() : errors::WriteDtype(name_, dtype_, got);
}

absl::Status ArrayStore::CheckReadDtype(DataType got) const {
  return got == dtype_ ? absl::OkStatus() : errors::ReadDtype(name_, dtype_, got);
}

absl::Status ArrayStore::CheckOpen() const {
  return closed() ? errors::Closed(name_) : absl::OkStatus();
}

absl::Status ArrayStore::CheckWriteIndex(int64_t index) const {
  if (index >= 0 && index < size_) return absl::OkStatus();
  if (index < 0 || !dynamic_size_) {
    return errors::WriteOutOfRange(name_, index, size_, dynamic_size_);
  }
  return index < kMaxSize ? absl::OkStatus() : errors::CannotGrow(name_, index);
}

absl::Status ArrayStore::CheckElementShape(int64_t index, const TensorShape& shape,
                                           const PartialTensorShape& element_shape) const {
  return Compatible(element_shape, shape)
             ? absl::OkStatus()
             : errors::IncompatibleElement(name_, index, shape, element_shape);
}

absl::Status ArrayStore::CheckSlot(int64_t index, const TensorShape& shape, bool* sums) const {
  *sums = false;
  const Slot* slot = slots_.Find(index);
  const State state = slot == nullptr ? State::kEmpty : slot->state;
  if (state == State::kRead || state == State::kCleared) return errors::AlreadyRead(name_, index);
  if (!accumulate_) {
    return state == State::kEmpty ? absl::OkStatus() : errors::AlreadyWritten(name_, index);
  }
  bool known = state == State::kWritten;
  TensorShape have;
  if (known) {
    have = ShapeOf(*slot);
  } else {
    TF_RETURN_IF_ERROR(shapes_->Find(index, SlotShapes::kNow, &known, &have));
  }
  if (known && have != shape) return errors::AggregateShape(name_, index, have, shape);
  *sums = state == State::kWritten && have.num_elements() > 0;
  return *sums && !CanAdd(dtype_) ? errors::NoSum(name_, index, dtype_) : absl::OkStatus();
}

// ---- one slot -------------------------------------------------------------------------------

Slot* ArrayStore::FindOrMakeSlot(int64_t index) {
  return slots_.FindOrMake(index, std::max(size_, index + 1));
}

Tensor ArrayStore::DataOf(const Slot& slot) {
  if (slot.block == nullptr) return slot.value;
  const Block& block = *slot.block;
  return ViewOf({block.value(), block.begin(slot.part), block.count(slot.part)},
                block.shape(slot.part));
}

TensorShape ArrayStore::ShapeOf(const Slot& slot) {
  return slot.block == nullptr ? slot.value.shape() : slot.block->shape(slot.part);
}

void ArrayStore::DropData(Slot* slot) {
  if (slot->block != nullptr && --slot->block->live == 0) blocks_.erase(slot->block->self);
  slot->block = nullptr;
  slot->value = Tensor();
  slot->owned = false;
}

void ArrayStore::FreeElements(const SparseVector<Slot>& slots, std::list<Block>* blocks) const {
  if (!OwnsOthers(dtype_)) return;  // the destructors of such elements do not nest
  slots.ForEach([](Slot& slot) { Release(std::move(slot.value)); });
  for (Block& block : *blocks) Release(block.TakeValue());
}

void ArrayStore::SetElementShape(PartialTensorShape shape) {
  if (element_shape_known_) return;
  element_shape_ = std::move(shape);
  element_shape_known_ = element_shape_.IsFullyDefined();
}

void ArrayStore::SetBusy(Slot* slot, bool busy) {
  if (slot->busy == busy) return;  // one call may name a slot twice
  slot->busy = busy;
  busy_ += busy ? 1 : -1;
  if (busy) {
    ++version_;  // a read in progress has to look again
  } else {
    idle_.SignalAll();
  }
}

void ArrayStore::AwaitIdle(int64_t index) {
  for (;;) {
    const Slot* slot = index < 0 ? nullptr : slots_.Find(index);
    if (slot == nullptr || !slot->busy) return;
    idle_.Wait(&mu_);
  }
}

absl::Status ArrayStore::Inspect(int64_t index, const PartialTensorShape& element_shape,
                                 Element* element) const {
  TF_RETURN_IF_ERROR(CheckOpen());
  const bool in_range = index >= 0 && index < size_;
  const bool grows = index >= size_ && accumulate_ && index < kMaxSize;
  if (!in_range && !grows) return errors::ReadOutOfRange(name_, index, size_);
  const Slot* slot = slots_.Find(index);
  element->busy = slot != nullptr && slot->busy;
  if (slot != nullptr && slot->state == State::kCleared) return errors::ReadTwice(name_, index);
  if (slot == nullptr || slot->state == State::kEmpty || slot->zeros) {
    return InspectZeros(index, element_shape, element);
  }
  if (slot->block == nullptr) {
    element->source = &slot->value;
    element->begin = 0;
    element->count = slot->value.NumElements();
    element->shape = slot->value.shape();
  } else {
    element->source = &slot->block->value();
    element->begin = slot->block->begin(slot->part);
    element->count = slot->block->count(slot->part);
    element->shape = slot->block->shape(slot->part);
  }
  return absl::OkStatus();
}

absl::Status ArrayStore::InspectZeros(int64_t index, const PartialTensorShape& element_shape,
                                      Element* element) const {
  bool known = false;
  if (accumulate_) {
    TF_RETURN_IF_ERROR(shapes_->Find(index, SlotShapes::kNow, &known, &element->shape));
  }
  if (!known && !element_shape.AsTensorShape(&element->shape)) {
    return errors::NothingToRead(name_, index, element_shape);
  }
  element->source = nullptr;
  element->begin = 0;
  element->count = element->shape.num_elements();
  return element->count == 0 || CanZero(dtype_) ? absl::OkStatus()
                                                : errors::NoZero(name_, index, dtype_);
}

void ArrayStore::CommitRead(int64_t index) {
  Slot* slot = FindOrMakeSlot(index);
  ++version_;
  size_ = std::max(size_, index + 1);
  if (slot->state == State::kEmpty) slot->zeros = true;
  slot->state = clear_after_read_ ? State::kCleared : State::kRead;
  if (clear_after_read_) DropData(slot);
}

absl::Status ArrayStore::Materialize(const Piece& piece, const TensorShape& shape, ElementOps& ops,
                                     Tensor* value) const {
  if (shape.num_elements() == 0) {
    *value = Tensor(dtype_, shape);
    return absl::OkStatus();
  }
  if (!piece.zeros()) {
    *value = ViewOf(piece, shape);
    if (value->IsAligned()) return absl::OkStatus();
  }
  Tensor made;
  TF_RETURN_IF_ERROR(ops.Allocate(dtype_, shape, &made));
  TF_RETURN_IF_ERROR(piece.zeros() ? ops.Zero(&made) : ops.Pack({piece}, &made));
  *value = std::move(made);
  return absl::OkStatus();
}

// ---- public ---------------------------------------------------------------------------------

absl::Status ArrayStore::Write(int64_t index, Tensor value, bool exclusive, ElementOps& ops) {
  Tensor data;
  bool owned = false;
  {
    MutexLock lock(&mu_);
    AwaitIdle(index);
    TF_RETURN_IF_ERROR(CheckOpen());
    TF_RETURN_IF_ERROR(CheckWriteIndex(index));
    TF_RETURN_IF_ERROR(CheckElementShape(index, value.shape(), element_shape_));
    bool sums = false;
    TF_RETURN_IF_ERROR(CheckSlot(index, value.shape(), &sums));
    Slot* slot = FindOrMakeSlot(index);
    if (!sums) {
      if (FirstShapeCounts()) {
        SetElementShape(PartialTensorShape(value.shape().dim_sizes()));
      } else if (!element_shape_known_) {
        shapes_->Record(index, 1, value.shape());
      }
      ++version_;
      size_ = std::max(size_, index + 1);
      DropData(slot);  // at most an element without values: no buffer is freed
      slot->value = std::move(value);
      slot->owned = exclusive;
      slot->state = State::kWritten;
      return absl::OkStatus();
    }
    data = DataOf(*slot);
    owned = slot->owned;
    SetBusy(slot, true);
  }
  absl::Cleanup give_back = [this, index] {
    MutexLock lock(&mu_);
    if (!closed()) SetBusy(slots_.Find(index), false);
  };
  const absl::Status summed = SumUp(value, exclusive, ops, &data, &owned);
  std::move(give_back).Cancel();
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(CheckOpen());
  Slot* slot = slots_.Find(index);
  SetBusy(slot, false);
  TF_RETURN_IF_ERROR(summed);
  ++version_;
  if (slot->block != nullptr) DropData(slot);
  std::swap(slot->value, data);  // the old value is freed after the lock is released
  slot->owned = owned;
  return absl::OkStatus();
}

absl::Status ArrayStore::Read(int64_t index, ElementOps& ops, Tensor* value) {
  for (;;) {
    Piece piece;
    TensorShape shape;
    uint64_t seen;
    {
      MutexLock lock(&mu_);
      AwaitIdle(index);
      Element element;
      TF_RETURN_IF_ERROR(Inspect(index, element_shape_, &element));
      piece = element.piece();
      const bool whole = !piece.zeros() && element.count == piece.source.NumElements() &&
                         element.shape == piece.source.shape() && piece.source.IsAligned();
      if (whole) {
        CommitRead(index);
        *value = std::move(piece.source);
        return absl::OkStatus();
      }
      if (Slot* slot = slots_.Find(index)) slot->owned = false;  // `piece` shares the buffer
      shape = element.shape;
      seen = version_;
    }
    Tensor made;
    TF_RETURN_IF_ERROR(Materialize(piece, shape, ops, &made));
    MutexLock lock(&mu_);
    AwaitIdle(index);
    if (version_ != seen) {
      Element now;
      TF_RETURN_IF_ERROR(Inspect(index, element_shape_, &now));
      const Piece again = now.piece();
      const bool same = now.shape == shape && again.begin == piece.begin &&
                        again.source.SharesBufferWith(piece.source);
      if (!same && !(again.zeros() && piece.zeros())) continue;
    }
    CommitRead(index);
    *value = std::move(made);
    return absl::OkStatus();
  }
}

absl::Status ArrayStore::Size(int64_t* size) const {
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(CheckOpen());
  *size = size_;
  return absl::OkStatus();
}

int64_t ArrayStore::size() const {
  MutexLock lock(&mu_);
  return size_;
}

void ArrayStore::Close() {
  SparseVector<Slot> slots;
  std::list<Block> blocks;
  {
    MutexLock lock(&mu_);
    closed_.store(true, std::memory_order_release);
    ++version_;
    size_ = 0;
    busy_ = 0;
    std::swap(slots, slots_);  // freed after the lock is released: elements may own resources
    std::swap(blocks, blocks_);
    idle_.SignalAll();
  }
  FreeElements(slots, &blocks);
}

absl::Status ArrayStore::Freeze(const TensorShape& prefix, ArrayOptions* gradient) {
  MutexLock lock(&mu_);
  TF_RETURN_IF_ERROR(CheckOpen());
  if (order_ >= kMaxOrder) return errors::OrderTooHigh(name_, kMaxOrder);
  PartialTensorShape joined;
  const absl::Status fits =
      PartialTensorShape(prefix.dim_sizes()).ConcatenateWithStatus(element_shape_, &joined);
  if (!fits.ok()) return errors::JoinedShape(name_, prefix, element_shape_, fits);
  gradient->dtype = dtype_;
  gradient->element_shape = std::move(joined);
  gradient->size = size_;
  gradient->dynamic_size = false;
  // Each addend of a sum gets the gradient of the sum. So the gradient array of an accumulating
  // array is read once per write to that array.
  gradient->clear_after_read = !accumulate_;
  gradient->identical_element_shapes = identical_element_shapes_;
  gradient->accumulate = true;
  gradient->order = order_ + 1;
  gradient->marked_size = marked_size_;
  gradient->shapes = std::make_shared<SlotShapes>(shapes_, shapes_->Freeze(), prefix);
  dynamic_size_ = false;
  return absl::OkStatus();
}

int64_t ArrayStore::TotalBytes() const {
  MutexLock lock(&mu_);
  size_t bytes = 0;
  slots_.ForEach([&bytes](const Slot& slot) { bytes += slot.value.TotalBytes(); });
  for (const Block& block : blocks_) bytes += block.value().TotalBytes();
  return static_cast<int64_t>(bytes);
}

}  // namespace tensor_array_grad
