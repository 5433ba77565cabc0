#include "cc/slices/slice_gradient_sum.h"

#include <algorithm>
#include <cstdint>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "cc/base/invalid.h"
#include "cc/base/variant_registration.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/util/overflow.h"

namespace tensor_array_grad {
namespace {

using Numbers = std::vector<int64_t>;

[[maybe_unused]] const bool sum_registered = RegisterDecode<SliceGradientSum>();

// Appends the length of `sizes` and its elements.
template <typename Sizes>
void Append(const Sizes& sizes, Numbers* numbers) {
  numbers->push_back(static_cast<int64_t>(sizes.size()));
  numbers->insert(numbers->end(), sizes.begin(), sizes.end());
}

// Encodes a term without its values: four vectors, each after its length, and `from_zero`.
Tensor LayoutOf(const SliceGradient& term) {
  Numbers numbers;
  Append(term.whole.dim_sizes(), &numbers);
  Append(term.box.sizes, &numbers);
  Append(term.box.steps, &numbers);
  Append(term.starts, &numbers);
  numbers.push_back(term.from_zero ? 1 : 0);
  Tensor layout(DT_INT64, TensorShape({static_cast<int64_t>(numbers.size())}));
  std::copy(numbers.begin(), numbers.end(), layout.flat<int64_t>().data());
  return layout;
}

// Reads the vector of `layout` that begins at *position and advances *position past it. Returns
// false if `layout` is too short.
template <typename Sizes>
bool Read(const Tensor& layout, int64_t* position, Sizes* sizes) {
  const auto numbers = layout.flat<int64_t>();
  if (*position >= numbers.size()) return false;
  const int64_t count = numbers(*position);
  if (count < 0 || count > numbers.size() - *position - 1) return false;
  const int64_t* const begin = numbers.data() + *position + 1;
  sizes->assign(begin, begin + count);
  *position += count + 1;
  return true;
}

// Whether each row lies in a tensor of the shape `whole`, and there is a value for each position of
// the rows. The sizes are not trusted: products are checked for overflow, and positions are
// computed with 128 bits.
bool IsWithin(const SliceGradient& term) {
  const cpu::Box& box = term.box;
  if (box.sizes.size() != box.steps.size()) return false;
  int64_t width = 1;
  absl::int128 lowest = 0, highest = 0;  // positions of a row that begins at 0
  for (size_t d = 0; d < box.sizes.size(); ++d) {
    if (box.sizes[d] < 0) return false;
    width = tensorflow::MultiplyWithoutOverflow(width, box.sizes[d]);
    if (width < 0) return false;
    const absl::int128 last = absl::int128(box.sizes[d] - 1) * box.steps[d];
    (last < 0 ? lowest : highest) += last;
  }
  const auto rows = static_cast<int64_t>(term.starts.size());
  if (tensorflow::MultiplyWithoutOverflow(rows, width) != term.values.NumElements()) return false;
  return width == 0 || std::all_of(term.starts.begin(), term.starts.end(), [&](int64_t start) {
           return start + lowest >= 0 && start + highest < term.whole.num_elements();
         });
}

bool ReadTerm(const Tensor& values, const Tensor& layout, SliceGradient* term) {
  if (layout.dtype() != DT_INT64) return false;
  int64_t position = 0;
  Numbers whole;
  if (!Read(layout, &position, &whole) || !Read(layout, &position, &term->box.sizes) ||
      !Read(layout, &position, &term->box.steps) || !Read(layout, &position, &term->starts) ||
      position >= layout.NumElements()) {
    return false;
  }
  term->from_zero = layout.flat<int64_t>()(position) != 0;
  term->values = values;
  return TensorShape::BuildTensorShape(whole, &term->whole).ok() && IsWithin(*term);
}

}  // namespace

std::string SliceGradientSum::DebugString() const {
  return absl::StrCat(kTypeName, " of ", terms.size(), " terms");
}

void SliceGradientSum::Encode(tensorflow::VariantTensorData* data) const {
  data->set_type_name(TypeName());
  for (const SliceGradient& term : terms) {
    *data->add_tensors() = term.values;
    *data->add_tensors() = LayoutOf(term);
  }
}

bool SliceGradientSum::Decode(const tensorflow::VariantTensorData& data) {
  terms.clear();
  if (data.tensors_size() == 0 || data.tensors_size() % 2 != 0) return false;
  for (int i = 0; i < data.tensors_size(); i += 2) {
    if (!ReadTerm(data.tensors(i), data.tensors(i + 1), &terms.emplace_back())) return false;
  }
  return true;
}

absl::Status ReadTerms(const SliceGradientOp& op, absl::Span<const Tensor* const> inputs,
                       SliceGradients* terms) {
  if (op.kind != SliceGradientOp::kSum) {
    return ReadSliceGradient(op, inputs, &terms->emplace_back());
  }
  const Tensor& sum = *inputs[0];
  const bool one = sum.dtype() == DT_VARIANT && sum.NumElements() == 1;
  const auto* const held = one ? sum.flat<Variant>()(0).get<SliceGradientSum>() : nullptr;
  if (held == nullptr) {
    return Invalid("A sum of gradients of slices is needed, not ", sum.DebugString(3));
  }
  terms->insert(terms->end(), held->terms.begin(), held->terms.end());
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
