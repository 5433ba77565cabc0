#ifndef CC_SLICES_SLICE_INPUTS_H_
#define CC_SLICES_SLICE_INPUTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/functors.h"

// What the files that read the inputs of gradients of slices have in common.
namespace tensor_array_grad {

// The error of an op whose inputs do not fit.
template <typename... Args>
absl::Status Invalid(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

// Element i of an int16, int32 or int64 tensor.
inline int64_t IntAt(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DT_INT32) return tensor.flat<int32_t>()(i);
  if (tensor.dtype() == DT_INT64) return tensor.flat<int64_t>()(i);
  return tensor.flat<int16_t>()(i);
}

// The size of each dimension.
inline cpu::Box::Sizes SizesOf(const TensorShape& shape) {
  const auto sizes = shape.dim_sizes();
  return cpu::Box::Sizes(sizes.begin(), sizes.end());
}

// The distance between neighbours in each dimension, in values.
inline cpu::Box::Sizes StepsOf(const TensorShape& shape) {
  cpu::Box::Sizes steps(shape.dims());
  int64_t step = 1;
  for (int d = shape.dims() - 1; d >= 0; --d) {
    steps[d] = step;
    step *= shape.dim_size(d);
  }
  return steps;
}

}  // namespace tensor_array_grad

#endif  // CC_SLICES_SLICE_INPUTS_H_
