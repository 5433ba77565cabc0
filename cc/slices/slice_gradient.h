#ifndef CC_SLICES_SLICE_GRADIENT_H_
#define CC_SLICES_SLICE_GRADIENT_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/device/functors.h"
#include "cc/slices/basic_slice.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensor_array_grad {

// The gradient of an index, as rows instead of the tensor that stock makes: zeros of the shape of
// what was indexed, but for these rows.
//
// Row i is what `box` holds when it begins at starts[i]; its values are those of `values` from
// number i * width() on, in row-major order. The gradient of a slice has one row, that of a gather
// one for each index. No two rows have a position of the whole in common.
struct SliceGradient {
  tensorflow::TensorShape whole;  // of the tensor that stock makes
  tensorflow::Tensor values;
  absl::InlinedVector<int64_t, 2> starts;
  cpu::Box box;

  int64_t width() const { return box.values(); }
};

// What is to be known of a node whose output has this form.
struct SliceGradientOp {
  enum Kind { kStridedSlice, kPad, kSegmentSum, kScatter, kZeros, kSum };

  // Reads `def`: StridedSliceGrad, Pad, UnsortedSegmentSum or ScatterNd, with its attributes;
  // ZerosLike, which has no row at all; or kSumOp, whose input is a SliceGradientSum already. The
  // attributes kTransposed and kReshaped say that the output of an UnsortedSegmentSum goes through
  // Transpose, and then through Reshape.
  static absl::Status Of(const tensorflow::NodeDef& def, SliceGradientOp* op);
  static constexpr char kTransposed[] = "_transposed", kReshaped[] = "_reshaped";
  static constexpr char kSumOp[] = "TensorArrayGrad>SliceGradients";

  // The op's own inputs, then the second ones of Transpose and Reshape.
  int num_inputs() const;

  Kind kind = kPad;
  SliceMasks masks;  // of StridedSliceGrad
  bool transposed = false, reshaped = false;
};

// What the op would output for `inputs`. A row that several indices name is their sum, from zero
// and in their order. An error where stock has one. Only values of dtypes of CanAdd. Requires: op
// is not kSum, which ReadTerms reads.
absl::Status ReadSliceGradient(const SliceGradientOp& op,
                               absl::Span<const tensorflow::Tensor* const> inputs,
                               SliceGradient* gradient);

// What the op would output, if that is zeros of shape `whole` but for values that follow each other
// in it: sets *first to where they begin and returns the input that has them. Null for any other
// output; costs a tenth of ReadSliceGradient.
const tensorflow::Tensor* ReadOneRun(const SliceGradientOp& op,
                                     absl::Span<const tensorflow::Tensor* const> inputs,
                                     const tensorflow::TensorShape& whole, int64_t* first);

// Makes `values` a tensor in host memory, uninitialised. ResourceExhausted if memory runs out.
absl::Status AllocateValues(tensorflow::DataType dtype, const tensorflow::TensorShape& shape,
                            tensorflow::Tensor* values);

}  // namespace tensor_array_grad

#endif  // CC_SLICES_SLICE_GRADIENT_H_
