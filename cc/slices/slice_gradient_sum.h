#ifndef CC_SLICES_SLICE_GRADIENT_SUM_H_
#define CC_SLICES_SLICE_GRADIENT_SUM_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/tensorflow_names.h"
#include "cc/slices/slice_gradient.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace tensor_array_grad {

// A sum of gradients of slices of one tensor, as a value in a variant tensor. A branch of a
// conditional passes it to the op that continues the sum after the conditional. The terms are not
// added yet. A copy shares the buffers of the terms.
struct SliceGradientSum {
  std::vector<SliceGradient> terms;  // in the order of the sum; at least one

  static constexpr char kTypeName[] = "tensor_array_grad::SliceGradientSum";
  std::string TypeName() const { return kTypeName; }
  std::string DebugString() const;

  // Constant folding stores variants in constants and needs these two methods. Decode does not
  // trust the data, which may come from a file: it returns false unless each row lies inside the
  // tensor and has its values.
  void Encode(tensorflow::VariantTensorData* data) const;
  bool Decode(const tensorflow::VariantTensorData& data);
};

using SliceGradients = absl::InlinedVector<SliceGradient, 2>;  // up to two without an allocation

// Appends to `terms` the gradient that ReadSliceGradient reads or, for kSum, the terms of the
// SliceGradientSum in the only input. Returns ReadSliceGradient's errors, and InvalidArgument if
// that input holds something else.
absl::Status ReadTerms(const SliceGradientOp& op, absl::Span<const Tensor* const> inputs,
                       SliceGradients* terms);

}  // namespace tensor_array_grad

#endif  // CC_SLICES_SLICE_GRADIENT_SUM_H_
