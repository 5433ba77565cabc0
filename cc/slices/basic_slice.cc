#include "cc/slices/basic_slice.h"

#include <algorithm>

#include "cc/base/tensor_data.h"

namespace tensor_array_grad {
namespace {

// Reads the entries of `begin`, `end` and `strides`, of type T, one after the other. An entry takes
// the next dimension of the tensor as an index or as a range, takes several dimensions whole
// (`...`), or adds a new dimension to the result. Dimensions for which there is no entry are taken
// whole.
template <typename T>
class Reader {
 public:
  Reader(const TensorShape& shape, const Tensor& begins, const Tensor& ends, const Tensor& strides,
         const SliceMasks& masks, BasicSlice* slice)
      : shape_(shape),
        begin_(DataOf<T>(begins)),
        end_(DataOf<T>(ends)),
        stride_(DataOf<T>(strides)),
        entries_(static_cast<int>(begins.dim_size(0))),
        masks_(masks),
        slice_(slice) {}

  bool Read() {
    for (int entry = 0; entry < entries_; ++entry) {
      if (!ReadEntry(entry)) return false;
    }
    return TakeWhole(slice_->dims);
  }

 private:
  static constexpr bool Has(int32_t mask, int entry) { return (mask >> entry & 1) != 0; }

  bool ReadEntry(int entry) {
    if (Has(masks_.ellipsis, entry)) return TakeWhole(slice_->dims - DimensionsBehind(entry));
    if (Has(masks_.new_axis, entry)) return AddAxis(BasicSlice::kNewAxis);
    return next_ < slice_->dims && stride_[entry] == 1 && ReadIndexOrRange(entry);
  }

  // The number of dimensions that the entries after `entry` take.
  int DimensionsBehind(int entry) const {
    int dimensions = 0;
    for (int i = entry + 1; i < entries_; ++i) dimensions += Has(masks_.new_axis, i) ? 0 : 1;
    return dimensions;
  }

  // Takes all dimensions from next_ to `end` whole. Returns false if next_ is already past `end`.
  bool TakeWhole(int end) {
    while (next_ < end) {
      if (!Take(0, shape_.dim_size(next_), /*keep=*/true)) return false;
    }
    return next_ == end;
  }

  // An index out of range is an error of StridedSlice, so it is not read. A range out of range is
  // cut.
  bool ReadIndexOrRange(int entry) {
    const int64_t size = shape_.dim_size(next_);
    const auto from_the_end = [size](int64_t i) { return i < 0 ? i + size : i; };
    if (Has(masks_.shrink_axis, entry)) {
      const int64_t index = from_the_end(begin_[entry]);
      if (index < 0 || index >= size || Has(masks_.begin | masks_.end, entry)) return false;
      return Take(index, index + 1, /*keep=*/false);
    }
    const auto within = [=](int64_t i) { return std::clamp<int64_t>(from_the_end(i), 0, size); };
    const int64_t from = Has(masks_.begin, entry) ? 0 : within(begin_[entry]);
    const int64_t to = Has(masks_.end, entry) ? size : within(end_[entry]);
    return Take(from, std::max(from, to), /*keep=*/true);
  }

  // Takes [from, to) of the next dimension. If `keep`, the result has the dimension too.
  bool Take(int64_t from, int64_t to, bool keep) {
    slice_->begin[next_] = from;
    slice_->size[next_] = to - from;
    slice_->elements *= to - from;
    const auto axis = static_cast<int8_t>(next_++);
    return !keep || AddAxis(axis);
  }

  bool AddAxis(int8_t axis) {
    if (slice_->rank == BasicSlice::kMostDims) return false;
    slice_->axes[slice_->rank++] = axis;
    return true;
  }

  const TensorShape& shape_;
  const T *const begin_, *const end_, *const stride_;
  const int entries_;
  const SliceMasks& masks_;
  BasicSlice* const slice_;
  int next_ = 0;  // dimension of the tensor
};

}  // namespace

bool BasicSlice::Read(const TensorShape& shape, const Tensor& begins, const Tensor& ends,
                      const Tensor& strides, const SliceMasks& masks) {
  constexpr int kMostEntries = 2 * kMostDims;
  const bool several_ellipses = (masks.ellipsis & (masks.ellipsis - 1)) != 0;
  dims = shape.dims();
  elements = 1;
  rank = 0;
  if (several_ellipses || dims > kMostDims || begins.dims() != 1 ||
      begins.dim_size(0) > kMostEntries) {
    return false;
  }
  for (const Tensor* other : {&ends, &strides}) {
    if (other->dtype() != begins.dtype() || !other->IsSameSize(begins)) return false;
  }
  switch (begins.dtype()) {
    case DT_INT32:
      return Reader<int32_t>(shape, begins, ends, strides, masks, this).Read();
    case DT_INT64:
      return Reader<int64_t>(shape, begins, ends, strides, masks, this).Read();
    default:
      return false;
  }
}

TensorShape BasicSlice::ShapeOfResult() const {
  TensorShape shape;
  for (int i = 0; i < rank; ++i) shape.AddDim(axes[i] == kNewAxis ? 1 : size[axes[i]]);
  return shape;
}

}  // namespace tensor_array_grad
