#ifndef CC_SLICES_SLICE_GRADIENT_H_
#define CC_SLICES_SLICE_GRADIENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/device/functors.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensor_array_grad {

// The gradient of an index, as rows instead of the tensor that stock makes: zeros of the shape of
// what was indexed, but for these rows.
//
// Row i is what `box` would hold if it began at starts[i]; its values are those of `values` from
// number i * width() on, in row-major order. A slice is one row. No value is named twice.
struct SliceGradient {
  tensorflow::TensorShape whole;  // of the tensor that stock makes
  tensorflow::Tensor values;
  std::vector<int64_t> starts;
  cpu::Box box;

  int64_t width() const;
};

// The ops whose output has this form, with what is to be known of a node to read its inputs.
struct SliceGradientOp {
  std::string op;                  // StridedSliceGrad, Pad, UnsortedSegmentSum or ScatterNd
  tensorflow::NodeDef def;         // its attributes
  bool transposed = false;         // UnsortedSegmentSum: one more input, as that of Transpose
  bool reshaped = false;           // UnsortedSegmentSum: one more input, as that of Reshape
};

// What the op would output for `inputs`, which are the node's own, then those of Transpose and
// Reshape. A row that several indices name is their sum, from zero and in their order. An error
// where stock has one. Only values of dtypes of CanAdd.
absl::Status ReadSliceGradient(const SliceGradientOp& op,
                               absl::Span<const tensorflow::Tensor* const> inputs,
                               SliceGradient* gradient);

}  // namespace tensor_array_grad

#endif  // CC_SLICES_SLICE_GRADIENT_H_
