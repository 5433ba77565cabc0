#ifndef CC_SLICES_SLICE_GRADIENT_SUM_H_
#define CC_SLICES_SLICE_GRADIENT_SUM_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/slices/slice_gradient.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace tensor_array_grad {

// A sum of gradients of slices of one tensor, as a value of a variant tensor: what a branch of a
// conditional passes to the sum behind it.
struct SliceGradientSum {
  std::vector<SliceGradient> terms;  // in their order, at least one

  static constexpr char kTypeName[] = "tensor_array_grad::SliceGradientSum";
  std::string TypeName() const { return kTypeName; }
  std::string DebugString() const;

  // Constant folding makes constants of variants. What is decoded may be of unknown origin: Decode
  // returns false unless each row lies in the tensor.
  void Encode(tensorflow::VariantTensorData* data) const;
  bool Decode(const tensorflow::VariantTensorData& data);
};

using SliceGradients = absl::InlinedVector<SliceGradient, 2>;  // no allocation for one or two

// Appends what ReadSliceGradient reads, or the terms of a sum.
absl::Status ReadTerms(const SliceGradientOp& op,
                       absl::Span<const tensorflow::Tensor* const> inputs, SliceGradients* terms);

}  // namespace tensor_array_grad

#endif  // CC_SLICES_SLICE_GRADIENT_SUM_H_
