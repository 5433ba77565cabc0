#include "cc/slices/basic_slice.h"

#include <algorithm>

#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Tensor;
using tensorflow::TensorShape;

// `BasicSlice::Read` for indices of type T.
template <typename T>
bool ReadIndices(const TensorShape& shape, const Tensor& begins, const Tensor& ends,
                 const Tensor& strides, const SliceMasks& masks, BasicSlice* slice) {
  const T* const begin = static_cast<const T*>(begins.data());
  const T* const end = static_cast<const T*>(ends.data());
  const T* const stride = static_cast<const T*>(strides.data());
  const int indices = static_cast<int>(begins.dim_size(0));
  for (int d = 0; d < slice->dims; ++d) {
    const int64_t size = shape.dim_size(d);
    const int bit = d < indices ? 1 << d : 0;
    slice->shrunk[d] = (masks.shrink_axis & bit) != 0;
    int64_t from = 0, to = size;
    const auto from_the_end = [size](int64_t i) { return i < 0 ? i + size : i; };
    if (slice->shrunk[d]) {
      from = from_the_end(begin[d]);
      if (from < 0 || from >= size || ((masks.begin | masks.end) & bit) != 0) return false;
      to = from + 1;
    } else if (bit != 0) {
      const auto within = [=](int64_t i) { return std::clamp<int64_t>(from_the_end(i), 0, size); };
      if ((masks.begin & bit) == 0) from = within(begin[d]);
      if ((masks.end & bit) == 0) to = std::max(from, within(end[d]));
    }
    if (bit != 0 && stride[d] != 1) return false;
    slice->begin[d] = from;
    slice->size[d] = to - from;
    slice->elements *= to - from;
  }
  return true;
}

}  // namespace

SliceMasks SliceMasks::Of(const tensorflow::AttrSlice& attributes) {
  SliceMasks masks;
  tensorflow::TryGetNodeAttr(attributes, "begin_mask", &masks.begin);
  tensorflow::TryGetNodeAttr(attributes, "end_mask", &masks.end);
  tensorflow::TryGetNodeAttr(attributes, "ellipsis_mask", &masks.ellipsis);
  tensorflow::TryGetNodeAttr(attributes, "new_axis_mask", &masks.new_axis);
  tensorflow::TryGetNodeAttr(attributes, "shrink_axis_mask", &masks.shrink_axis);
  return masks;
}

bool BasicSlice::Read(const TensorShape& shape, const Tensor& begins, const Tensor& ends,
                      const Tensor& strides, const SliceMasks& masks) {
  dims = shape.dims();
  elements = 1;
  if (masks.ellipsis != 0 || masks.new_axis != 0 || dims > kMostDims || begins.dims() != 1 ||
      begins.dim_size(0) > dims) {
    return false;
  }
  for (const Tensor* other : {&ends, &strides}) {
    if (other->dtype() != begins.dtype() || !other->IsSameSize(begins)) return false;
  }
  switch (begins.dtype()) {
    case tensorflow::DT_INT32:
      return ReadIndices<int32_t>(shape, begins, ends, strides, masks, this);
    case tensorflow::DT_INT64:
      return ReadIndices<int64_t>(shape, begins, ends, strides, masks, this);
    default:
      return false;
  }
}

TensorShape BasicSlice::ShapeOfResult() const {
  TensorShape shape;
  for (int d = 0; d < dims; ++d) {
    if (!shrunk[d]) shape.AddDim(size[d]);
  }
  return shape;
}

}  // namespace tensor_array_grad
