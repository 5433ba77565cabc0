#ifndef CC_LISTS_ROW_CUTTER_H_
#define CC_LISTS_ROW_CUTTER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/base/element_ops.h"
#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// Cuts a tensor into parts along its first dimension, each aligned as TensorFlow's kernels require.
// Parts that are aligned anyway are views of the tensor; the others are copies. On a GPU one launch
// makes all copies, since a launch per part would take longer than the copying.
class RowCutter {
 public:
  explicit RowCutter(ElementOps& ops) : ops_(ops) {}

  // Cuts `tensor` into parts of lengths[i] rows, or into single rows if there are no `lengths`.
  // Requires: rank >= 1; lengths that are not negative and sum to dimension 0.
  absl::Status Start(const Tensor& tensor,
                     std::optional<absl::Span<const int64_t>> lengths = std::nullopt);

  // Sets `out` to the next part, in shape `shape`, which must have as many values.
  absl::Status Next(const TensorShape& shape, Tensor* out);

 private:
  absl::Status Spread(const std::vector<int64_t>& counts);

  ElementOps& ops_;
  Tensor values_;      // the tensor, or its parts with gaps that align them
  int64_t at_ = 0;     // where in `values_` the next part begins
  int64_t grain_ = 1;  // parts begin at multiples of this many values
};

}  // namespace tensor_array_grad

#endif  // CC_LISTS_ROW_CUTTER_H_
