#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/functors.h"
#include "tensorflow/core/framework/register_types.h"
#include "tensorflow/core/framework/resource_handle.h"
#include "tensorflow/core/framework/variant.h"

namespace tensor_array_grad::cpu {
namespace {

// Integers wrap around, as they do in TensorFlow's kernels.
template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return static_cast<T>(a + b);
  }
}

// Returns 0 + x, which is x, but 0 if x is -0.
template <typename T>
T FromZero(T x) {
  return x == T(0) ? T(0) : x;
}
template <typename T>
std::complex<T> FromZero(std::complex<T> x) {
  return {FromZero(x.real()), FromZero(x.imag())};
}
// By its bits, because the conversion to a float takes long.
Eigen::half FromZero(Eigen::half x) {
  constexpr uint16_t kNegativeZero = 0x8000;
  return Eigen::numext::bit_cast<uint16_t>(x) == kNegativeZero ? Eigen::half(0) : x;
}

// With target_clones the compiler makes a version for each kind of vector unit of x86, and the
// loader picks one. It does so before a sanitizer has started, so builds with a sanitizer do
// without.
#if defined(TAG_SANITIZED) || !defined(__x86_64__)
#define TAG_WIDE __attribute__((noinline))
#else
#define TAG_WIDE __attribute__((target_clones("avx2", "default")))
#endif
TAG_WIDE void AddReals(const float* left, const float* right, float zero, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = left[i] + (zero + right[i]);
}
TAG_WIDE void AddReals(const double* left, const double* right, double zero, double* out,
                       int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = left[i] + (zero + right[i]);
}

// out = left + right or, if `from_zero`, left + (0 + right).
template <typename T>
void AddRange(const T* left, const T* right, bool from_zero, T* out, int64_t n) {
  using Real = typename Eigen::NumTraits<T>::Real;
  if constexpr (std::is_same_v<Real, float> || std::is_same_v<Real, double>) {
    constexpr int64_t kReals = Eigen::NumTraits<T>::IsComplex ? 2 : 1;  // complex: two real sums
    const Real zero = from_zero ? Real(0) : -Real(0);  // -0 changes no value, not even -0
    AddReals(reinterpret_cast<const Real*>(left), reinterpret_cast<const Real*>(right), zero,
             reinterpret_cast<Real*>(out), kReals * n);
  } else if (from_zero) {
    for (int64_t i = 0; i < n; ++i) out[i] = Sum(left[i], FromZero(right[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = Sum(left[i], right[i]);
  }
}

template <typename T>
void AddAll(const Tensor& left, const Tensor& right, ParallelFor parallel_for, Tensor* out) {
  const T *a = DataOf<T>(left), *b = DataOf<T>(right);
  T* sum = DataOf<T>(out);
  parallel_for(out->NumElements(), /*cost=*/1, [=](int64_t begin, int64_t end) {
    AddRange<T>(a + begin, b + begin, /*from_zero=*/false, sum + begin, end - begin);
  });
}

// The same box with as few dimensions as possible, but at least one: adjacent dimensions become one
// if the step of the outer one is the extent of the inner one.
Box Simplified(const Box& box) {
  Box simple;
  for (size_t d = 0; d < box.sizes.size(); ++d) {
    if (box.sizes[d] == 1) continue;
    if (!simple.sizes.empty() && simple.steps.back() == box.sizes[d] * box.steps[d]) {
      simple.sizes.back() *= box.sizes[d];
      simple.steps.back() = box.steps[d];
    } else {
      simple.sizes.push_back(box.sizes[d]);
      simple.steps.push_back(box.steps[d]);
    }
  }
  if (simple.sizes.empty()) {
    simple.sizes.push_back(1);
    simple.steps.push_back(1);
  }
  return simple;
}

// The offset from the box's first value to that of line number `line`. The values of a line
// differ only in their position in the last dimension.
int64_t StartOfLine(const Box& box, int64_t line) {
  int64_t start = 0;
  for (size_t d = box.sizes.size() - 1; d-- > 0;) {
    start += line % box.sizes[d] * box.steps[d];
    line /= box.sizes[d];
  }
  return start;
}

// Calls work(values, at, n, step) for each line of the values [begin, end) of a row. `values`
// points to the first value of the line in the sum, and `at` is its number in the row; the line has
// `n` values, `step` apart. `first` points to the first value of the row in the sum.
template <typename T, typename LineWork>
void ForEachLineOfRow(const Box& box, int64_t begin, int64_t end, T* first, LineWork work) {
  const int64_t width = box.sizes.back(), step = box.steps.back();
  for (int64_t at = begin; at < end;) {
    const int64_t column = at % width, n = std::min(width - column, end - at);
    work(first + StartOfLine(box, at / width) + column * step, at, n, step);
    at += n;
  }
}

// The same for all rows; `at` counts the values of all rows.
template <typename T, typename LineWork>
void ForEachLineOfRows(const Box& given, absl::Span<const int64_t> starts, ParallelFor parallel_for,
                       T* sum, LineWork work) {
  const Box box = Simplified(given);
  const int64_t width = box.values();
  if (width == 0) return;
  const auto rows = static_cast<int64_t>(starts.size());
  parallel_for(rows * width, /*cost=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin / width; row * width < end; ++row) {
      if (starts[row] < 0) continue;
      const int64_t before = row * width;
      ForEachLineOfRow(box, std::max(begin - before, int64_t{0}), std::min(end - before, width),
                       sum + starts[row], [&](T* values, int64_t at, int64_t n, int64_t step) {
                         work(values, before + at, n, step);
                       });
    }
  });
}

template <typename T>
void AddLine(const T* addend, int64_t n, int64_t step, bool from_zero, T* to) {
  if (step == 1) return AddRange<T>(to, addend, from_zero, to, n);
  for (int64_t i = 0; i < n; ++i) {
    to[i * step] = Sum(to[i * step], from_zero ? FromZero(addend[i]) : addend[i]);
  }
}

template <typename T>
void TakeLine(T* from, int64_t n, int64_t step, T* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = std::exchange(from[i * step], static_cast<T>(-T(0)));
}

// Copies the part of `pieces` that falls into values [begin, end) of the output. Piece i
// begins at value `starts[i]` of the output.
template <typename CopyPart, typename ZeroPart>
void PackRange(absl::Span<const Piece> pieces, absl::Span<const int64_t> starts, int64_t begin,
               int64_t end, CopyPart copy, ZeroPart zero) {
  size_t i = std::upper_bound(starts.begin(), starts.end(), begin) - starts.begin() - 1;
  for (int64_t at = begin; at < end; ++i) {
    const int64_t skipped = at - starts[i];
    const int64_t n = std::min(pieces[i].count - skipped, end - at);
    if (pieces[i].zeros()) {
      zero(at, n);
    } else {
      copy(pieces[i].source, pieces[i].begin + skipped, at, n);
    }
    at += n;
  }
}

void PackBytes(absl::Span<const Piece> pieces, absl::Span<const int64_t> starts, int64_t begin,
               int64_t end, int64_t width, Tensor* out) {
  char* const to = DataOf<char>(out);
  PackRange(
      pieces, starts, begin, end,
      [=](const Tensor& source, int64_t from, int64_t at, int64_t n) {
        std::memcpy(to + at * width, DataOf<char>(source) + from * width, n * width);
      },
      [=](int64_t at, int64_t n) { std::memset(to + at * width, 0, n * width); });
}

template <typename T>
void PackObjects(absl::Span<const Piece> pieces, absl::Span<const int64_t> starts, int64_t begin,
                 int64_t end, Tensor* out) {
  T* const to = DataOf<T>(out);
  PackRange(
      pieces, starts, begin, end,
      [=](const Tensor& source, int64_t from, int64_t at, int64_t n) {
        std::copy_n(DataOf<T>(source) + from, n, to + at);
      },
      [](int64_t, int64_t) {});
}

// Calls work(T(0)) for the type T of the numbers of `dtype`. Requires: CanAdd(dtype).
template <typename Work>
void WithNumber(DataType dtype, Work work) {
  switch (dtype) {
#define TAG_CASE(T)                          \
  case tensorflow::DataTypeToEnum<T>::value: \
    return work(T(0));
    TF_CALL_NUMBER_TYPES(TAG_CASE)
#undef TAG_CASE
    default:
      return;
  }
}

}  // namespace

void Add(const Tensor& left, const Tensor& right, ParallelFor parallel_for, Tensor* out) {
  WithNumber(out->dtype(),
             [&](auto number) { AddAll<decltype(number)>(left, right, parallel_for, out); });
}

int64_t Box::values() const {
  int64_t total = 1;
  for (const int64_t size : sizes) total *= size;
  return total;
}

void AddRows(const Tensor& addend, const Box& box, absl::Span<const int64_t> starts,
             ParallelFor parallel_for, Tensor* sum, bool from_zero) {
  WithNumber(sum->dtype(), [&](auto number) {
    using T = decltype(number);
    const T* const values = DataOf<T>(addend);
    ForEachLineOfRows(box, starts, parallel_for, DataOf<T>(sum),
                      [=](T* to, int64_t at, int64_t n, int64_t step) {
                        AddLine(values + at, n, step, from_zero, to);
                      });
  });
}

void TakeRows(const Box& box, absl::Span<const int64_t> starts, ParallelFor parallel_for,
              Tensor* sum, Tensor* taken) {
  WithNumber(sum->dtype(), [&](auto number) {
    using T = decltype(number);
    T* const values = DataOf<T>(taken);
    ForEachLineOfRows(box, starts, parallel_for, DataOf<T>(sum),
                      [=](T* from, int64_t at, int64_t n, int64_t step) {
                        TakeLine(from, n, step, values + at);
                      });
  });
}

void Zero(ParallelFor parallel_for, Tensor* out) {
  const auto bytes = static_cast<int64_t>(out->TotalBytes());
  if (bytes == 0) return;
  char* const to = DataOf<char>(out);
  parallel_for(bytes, /*cost=*/1,
               [to](int64_t begin, int64_t end) { std::memset(to + begin, 0, end - begin); });
}

void Pack(absl::Span<const Piece> pieces, ParallelFor parallel_for, Tensor* out) {
  std::vector<int64_t> starts;
  starts.reserve(pieces.size());
  int64_t total = 0;
  for (const Piece& piece : pieces) {
    starts.push_back(total);
    total += piece.count;
  }
  if (total == 0) return;
  const bool bytes = tensorflow::DataTypeCanUseMemcpy(out->dtype());
  const int64_t width = static_cast<int64_t>(out->TotalBytes()) / total;
  const int64_t cost = bytes ? (width + 7) / 8 : 50;
  parallel_for(total, cost, [&](int64_t begin, int64_t end) {
    switch (out->dtype()) {
      case DT_STRING:
        return PackObjects<tensorflow::tstring>(pieces, starts, begin, end, out);
      case DT_VARIANT:
        return PackObjects<Variant>(pieces, starts, begin, end, out);
      case DT_RESOURCE:
        return PackObjects<tensorflow::ResourceHandle>(pieces, starts, begin, end, out);
      default:
        return PackBytes(pieces, starts, begin, end, width, out);
    }
  });
}

}  // namespace tensor_array_grad::cpu
