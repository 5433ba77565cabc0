#include "cc/lists/loop_stack.h"

#include <limits>
#include <memory>
#include <utility>

#include "cc/base/block_pool.h"
#include "cc/base/release.h"
#include "cc/base/variant_registration.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/lib/core/coding.h"

namespace tensor_array_grad {
namespace {

using tensorflow::VariantTensorData;

static_assert(Variant::CanInlineType<LoopStack>(), "a loop stack must need no allocation");

[[maybe_unused]] const bool stack_registered =
    RegisterDecode<LoopStack>() && RegisterCopies<LoopStack>();

// What Encode writes. metadata: varints {format, number of lists, how many are kept, size}.
// tensors: an empty list of each spec, then the values of the rows, the last row first.
constexpr uint64_t kFormat = 2;

// The spec of the empty list that `tensor` holds; false if it holds something else.
bool ReadSpec(const Tensor& tensor, ListSpec* spec) {
  if (tensor.dtype() != DT_VARIANT || tensor.dims() != 0) return false;
  InputList list;  // a stock list, if stock's kernels and decoder are kept
  if (!list.Assign(tensor.scalar<Variant>()()) || list->size() != 0) return false;
  *spec = list->spec();
  return true;
}

}  // namespace

LoopStackRow* LoopStackRow::New(absl::Span<Tensor> values, LoopStackRow* below) {
  const int count = static_cast<int>(values.size());
  auto* const row =
      new (AllocateBlock(sizeof(LoopStackRow) + count * sizeof(Tensor))) LoopStackRow(count, below);
  std::uninitialized_move(values.begin(), values.end(), row->places().begin());
  return row;
}

void LoopStackRow::Unref() {
  for (LoopStackRow* row = this; row != nullptr && row->Drop();) {
    LoopStackRow* const below = row->below_;
    row->Free();
    row = below;
  }
}

void LoopStackRow::Free() {
  for (Tensor& value : places()) {
    if (OwnsOthers(value.dtype())) Release(std::exchange(value, Tensor()));
    value.~Tensor();
  }
  this->~LoopStackRow();
  FreeBlock(this);
}

void LoopStack::Push(LoopStackRow::Values row) {
  if (kept() > 0) {
    LoopStackRow* const made = LoopStackRow::New(absl::MakeSpan(row), top_.get());
    top_.detach();  // `made` has taken over the reference
    top_.reset(made, /*add_ref=*/false);
  }
  ++size_;
}

LoopStackRow::Values LoopStack::Pop() {
  if (kept() == 0) return --size_, LoopStackRow::Values();
  LoopStackRow* const last = top_.get();
  const absl::Span<const Tensor> held = last->values();
  // First, because this may throw: nothing has changed yet.
  LoopStackRow::Values values =
      last->IsUnique() ? last->Take() : LoopStackRow::Values(held.begin(), held.end());
  --size_;
  top_.reset(last->below(), /*add_ref=*/true);
  return values;
}

absl::Status LoopStack::Copy(const LoopStack& from, LoopStack* to, const CopyFunction& copy) {
  std::vector<const LoopStackRow*> rows;
  for (const LoopStackRow* row = from.top_.get(); row != nullptr; row = row->below()) {
    rows.push_back(row);
  }
  LoopStack copied;
  copied.lists_ = from.lists_;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    const absl::Span<const Tensor> values = (*row)->values();
    LoopStackRow::Values places;
    for (const Tensor& value : values) places.emplace_back(value.dtype());
    copied.Push(std::move(places));
    // A copy may be in progress when `copy` returns, so its target must not move afterwards.
    for (size_t i = 0; i < values.size(); ++i) {
      TF_RETURN_IF_ERROR(copy(values[i], &copied.top_->places()[i]));
    }
  }
  copied.size_ = from.size_;  // of a stack that keeps nothing
  *to = std::move(copied);
  return absl::OkStatus();
}

void LoopStack::Encode(VariantTensorData* data) const {
  data->set_type_name(TypeName());
  std::string metadata;
  for (const uint64_t number : {kFormat, static_cast<uint64_t>(specs().size()),
                                static_cast<uint64_t>(kept()), static_cast<uint64_t>(size())}) {
    tensorflow::core::PutVarint64(&metadata, number);
  }
  data->set_metadata(metadata);
  for (const ListSpec& spec : specs()) {
    Tensor list(DT_VARIANT, {});
    list.scalar<Variant>()() = ListVariant(spec, 0);
    *data->add_tensors() = std::move(list);
  }
  for (const LoopStackRow* row = top_.get(); row != nullptr; row = row->below()) {
    for (const Tensor& value : row->values()) *data->add_tensors() = value;
  }
}

bool LoopStack::Decode(const VariantTensorData& data) {
  std::string metadata;
  data.get_metadata(&metadata);
  absl::string_view rest(metadata);
  uint64_t format, lists, kept, size;
  if (!tensorflow::core::GetVarint64(&rest, &format) || format != kFormat ||
      !tensorflow::core::GetVarint64(&rest, &lists) ||
      !tensorflow::core::GetVarint64(&rest, &kept) ||
      !tensorflow::core::GetVarint64(&rest, &size) || !rest.empty()) {
    return false;
  }
  const auto tensors = static_cast<uint64_t>(data.tensors_size());
  const uint64_t rows = kept == 0 ? 0 : size;
  if (lists > tensors || kept > lists || size > std::numeric_limits<int32_t>::max() ||
      lists + rows * kept != tensors) {
    return false;
  }
  std::vector<ListSpec> specs(lists);
  for (uint64_t i = 0; i < lists; ++i) {
    if (!ReadSpec(data.tensors(static_cast<int>(i)), &specs[i])) return false;
  }
  LoopStack read(std::move(specs), kept);
  for (uint64_t row = rows; row > 0; --row) {
    LoopStackRow::Values values;
    for (uint64_t i = 0; i < kept; ++i) {
      const Tensor& value = data.tensors(static_cast<int>(lists + (row - 1) * kept + i));
      if (value.dtype() != read.specs()[i].dtype) return false;
      values.push_back(value);
    }
    read.Push(std::move(values));
  }
  read.size_ = static_cast<int64_t>(size);
  *this = std::move(read);
  return true;
}

}  // namespace tensor_array_grad
