#include "cc/array/slot_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cc/array/errors.h"
#include "cc/base/release.h"
#include "tensorflow/core/platform/errors.h"

namespace tensor_array_grad {

using State = Slot::State;

namespace {

// The element of a slot that has data.
Element ElementOf(const Slot& slot) {
  if (slot.block == nullptr) {
    return {&slot.value, 0, slot.value.NumElements(), slot.value.shape()};
  }
  const Block& block = *slot.block;
  return {&block.value(), block.begin(slot.part), block.count(slot.part), block.shape(slot.part)};
}

}  // namespace

SlotContents::~SlotContents() {
  if (!OwnsOthers(dtype)) return;  // the destructors of such elements do not nest
  slots.ForEach([](Slot& slot) { Release(std::move(slot.value)); });
  for (Block& block : blocks) Release(block.TakeValue());
}

SlotTable::SlotTable(const ArrayOptions& options)
    : options_(options),
      element_shape_(options.element_shape),
      element_shape_known_(element_shape_.IsFullyDefined()),
      size_(options.size),
      dynamic_size_(options.dynamic_size),
      marked_size_(options.marked_size),
      contents_(options.dtype) {}

int64_t SlotTable::TotalBytes() const {
  size_t bytes = 0;
  contents_.slots.ForEach([&bytes](const Slot& slot) { bytes += slot.value.TotalBytes(); });
  for (const Block& block : contents_.blocks) bytes += block.value().TotalBytes();
  return static_cast<int64_t>(bytes);
}

// ---- checks of writes -------------------------------------------------------------------------

absl::Status SlotTable::CheckOpen() const {
  return closed_ ? errors::Closed(options_.name) : absl::OkStatus();
}

absl::Status SlotTable::CheckWriteIndex(int64_t index) const {
  if (index >= 0 && index < size_) return absl::OkStatus();
  if (index < 0 || !dynamic_size_) {
    return errors::Invalid(options_.name, "Tried to write to index ", index,
                           " but array is not resizeable and size is: ", size_,
                           dynamic_size_ ? ". A dynamic array grows upwards only." : "");
  }
  return index < kMaxSize ? absl::OkStatus() : errors::CannotGrow(options_.name, index);
}

absl::Status SlotTable::CheckElementShape(int64_t index, const TensorShape& shape,
                                          const PartialTensorShape& element_shape) const {
  if (element_shape.IsCompatibleWith(shape)) return absl::OkStatus();
  return errors::Invalid(options_.name, "Could not write to TensorArray index ", index,
                         " because the value shape is ", shape.DebugString(),
                         " which is incompatible with the TensorArray's inferred element shape: ",
                         element_shape.DebugString(), " (consider setting infer_shape=False).");
}

absl::Status SlotTable::CheckSlot(int64_t index, const TensorShape& shape, bool* sums) const {
  *sums = false;
  const Slot* slot = contents_.slots.Find(index);
  const State state = slot == nullptr ? State::kEmpty : slot->state;
  if (state == State::kRead || state == State::kCleared) {
    return errors::Invalid(options_.name, "Could not write to TensorArray index ", index,
                           " because it has already been read.");
  }
  if (!options_.accumulate) {
    return state == State::kEmpty ? absl::OkStatus() : errors::AlreadyWritten(options_.name, index);
  }
  bool known = state == State::kWritten;
  TensorShape have;
  if (known) {
    have = ElementOf(*slot).shape;
  } else {
    TF_RETURN_IF_ERROR(options_.shapes->Find(index, SlotShapes::kNow, &known, &have));
  }
  if (known && have != shape) {
    return errors::Invalid(options_.name, "Could not aggregate to TensorArray index ", index,
                           " because the existing shape is ", have.DebugString(),
                           " but the new input shape is ", shape.DebugString(), ".");
  }
  *sums = state == State::kWritten && have.num_elements() > 0;
  return *sums && !CanAdd(options_.dtype) ? errors::NoSum(options_.name, index, options_.dtype)
                                          : absl::OkStatus();
}

// ---- reads ------------------------------------------------------------------------------------

absl::Status SlotTable::Inspect(int64_t index, const PartialTensorShape& element_shape,
                                Element* element) const {
  TF_RETURN_IF_ERROR(CheckOpen());
  const bool in_range = index >= 0 && index < size_;
  const bool grows = index >= size_ && options_.accumulate && index < kMaxSize;
  if (!in_range && !grows) {
    return errors::Invalid(options_.name, "Tried to read from index ", index,
                           " but array size is: ", size_);
  }
  const Slot* slot = contents_.slots.Find(index);
  if (slot != nullptr && slot->state == State::kCleared) {
    return errors::ReadTwice(options_.name, index);
  }
  if (slot == nullptr || slot->state == State::kEmpty || slot->zeros) {
    return InspectZeros(index, element_shape, element);
  }
  *element = ElementOf(*slot);
  return absl::OkStatus();
}

absl::Status SlotTable::InspectZeros(int64_t index, const PartialTensorShape& element_shape,
                                     Element* element) const {
  bool known = false;
  if (options_.accumulate) {
    TF_RETURN_IF_ERROR(options_.shapes->Find(index, SlotShapes::kNow, &known, &element->shape));
  }
  if (!known && !element_shape.AsTensorShape(&element->shape)) {
    return errors::Invalid(
        options_.name, "Could not read from TensorArray index ", index,
        ".  Furthermore, the element shape is not fully defined: ", element_shape.DebugString(),
        ".  It is possible you are working with a resizeable TensorArray and stop_gradients is not "
        "allowing the gradients to be written.  If you set the full element_shape property on the "
        "forward TensorArray, the proper all-zeros tensor will be returned instead of incurring "
        "this error.");
  }
  element->source = nullptr;
  element->begin = 0;
  element->count = element->shape.num_elements();
  if (element->count == 0 || CanZero(options_.dtype)) return absl::OkStatus();
  return errors::Invalid(
      options_.name, "Could not read index ", index,
      ", which was never written: tensor_array::TensorSetZero type not supported: ",
      DataTypeString(options_.dtype));
}

void SlotTable::CommitRead(int64_t index) {
  Slot* slot = contents_.slots.FindOrMake(index, std::max(size_, index + 1));
  size_ = std::max(size_, index + 1);
  if (slot->state == State::kEmpty) slot->zeros = true;
  slot->state = options_.clear_after_read ? State::kCleared : State::kRead;
  if (options_.clear_after_read) DropData(slot);
}

// ---- sums and writes --------------------------------------------------------------------------

Tensor SlotTable::DataOf(int64_t index, bool* owned) const {
  const Slot& slot = *contents_.slots.Find(index);
  *owned = slot.owned;
  if (slot.state != State::kWritten) return Tensor();
  return slot.block == nullptr ? slot.value : slot.block->view(slot.part);
}

void SlotTable::RecordShape(int64_t index, const TensorShape& shape) {
  if (FirstShapeCounts()) {
    SetElementShape(shape);
  } else if (!element_shape_known_) {
    options_.shapes->Record(index, 1, shape);
  }
}

void SlotTable::Put(int64_t index, Tensor* data, bool owned) {
  Slot* slot = contents_.slots.Find(index);
  size_ = std::max(size_, index + 1);
  if (slot->block != nullptr) DropData(slot);
  std::swap(slot->value, *data);
  slot->owned = owned;
  slot->state = State::kWritten;
}

void SlotTable::PutPart(int64_t index, Block* block, int64_t part) {
  Slot* slot = contents_.slots.Find(index);
  if (slot->state == State::kWritten) return;  // an element without values, and so is the part
  size_ = std::max(size_, index + 1);
  slot->block = block;
  slot->part = static_cast<int32_t>(part);
  slot->state = State::kWritten;
  ++block->live;
}

void SlotTable::TakeOver(std::list<Block>* block) {
  if (block->front().live == 0) return;
  contents_.blocks.splice(contents_.blocks.end(), *block);
  contents_.blocks.back().self = std::prev(contents_.blocks.end());
}

void SlotTable::DropData(Slot* slot) {
  if (Block* block = std::exchange(slot->block, nullptr)) {
    if (--block->live == 0) contents_.blocks.erase(block->self);
  }
  slot->value = Tensor();
  slot->owned = false;
}

void SlotTable::SetElementShape(PartialTensorShape shape) {
  if (element_shape_known_) return;
  element_shape_ = std::move(shape);
  element_shape_known_ = element_shape_.IsFullyDefined();
}

// ---- the whole array --------------------------------------------------------------------------

void SlotTable::Close(SlotContents* contents) {
  closed_ = true;
  size_ = 0;
  std::swap(contents->slots, contents_.slots);
  std::swap(contents->blocks, contents_.blocks);
}

absl::Status SlotTable::Freeze(const TensorShape& prefix, ArrayOptions* gradient) {
  TF_RETURN_IF_ERROR(CheckOpen());
  if (options_.order >= kMaxOrder) {
    return errors::Invalid(options_.name,
                           "Cannot make a gradient array: this one collects gradients of order ",
                           kMaxOrder, " already, which is the most.");
  }
  PartialTensorShape joined;
  const absl::Status fits =
      PartialTensorShape(prefix.dim_sizes()).ConcatenateWithStatus(element_shape_, &joined);
  if (!fits.ok()) {
    return errors::Invalid(options_.name, "Could not prepend ", prefix.DebugString(),
                           " to element shape ", element_shape_.DebugString(), ": ",
                           fits.message());
  }
  gradient->dtype = options_.dtype;
  gradient->element_shape = std::move(joined);
  gradient->size = size_;
  gradient->dynamic_size = false;
  // Each addend of a sum gets the gradient of the sum. So the gradient array of an accumulating
  // array is read once per write to that array.
  gradient->clear_after_read = !options_.accumulate;
  gradient->identical_element_shapes = options_.identical_element_shapes;
  gradient->accumulate = true;
  gradient->order = options_.order + 1;
  gradient->marked_size = marked_size_;
  gradient->shapes =
      std::make_shared<SlotShapes>(options_.shapes, options_.shapes->Freeze(), prefix);
  dynamic_size_ = false;
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
