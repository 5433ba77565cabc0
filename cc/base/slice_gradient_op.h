#ifndef CC_BASE_SLICE_GRADIENT_OP_H_
#define CC_BASE_SLICE_GRADIENT_OP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {

// The masks of StridedSlice: bit i applies to entry i of `begin`, `end` and `strides`.
struct SliceMasks {
  int32_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;

  // Reads the masks of a node with these attributes; a missing attribute counts as 0.
  static SliceMasks Of(const tensorflow::AttrSlice& attributes);
};

// An addend of AddSlices or SliceGradients: the op whose output they add without making it.
//
// The graph pass writes the addends of a node into its attribute `addends`, and the kernel reads
// them there. Each addend takes kNumbers integers: the kind, transposed and reshaped, which are 0
// or 1, and the five masks in the order in which SliceMasks declares them.
struct SliceGradientOp {
  // Ops that make the gradient of an index; then zeros, which have no rows; then SliceGradients,
  // whose output is a variant that has several addends.
  enum Kind { kStridedSlice, kPad, kSegmentSum, kScatter, kZeros, kFill, kSum };

  static constexpr char kAttribute[] = "addends";
  static constexpr int kNumbers = 8;

  explicit SliceGradientOp(Kind which);

  // The op of a node with this op and these attributes; nothing if there is no such kind.
  static std::optional<SliceGradientOp> Of(absl::string_view op,
                                           const tensorflow::AttrSlice& attributes);

  // Whether the op makes the gradient of an index.
  bool is_gradient() const { return kind < kZeros; }

  // How many inputs there are: those of the op itself, and after them the second inputs of
  // Transpose and Reshape.
  int num_inputs() const { return inputs + transposed + reshaped; }

  // Appends the op to the attribute `addends`.
  void AppendTo(tensorflow::AttrValue* addends) const;

  // Reads the attribute `addends` of a node with these attributes. Returns InvalidArgument if it
  // is not what AppendTo writes for one or more ops.
  static absl::Status ReadAll(const tensorflow::AttrSlice& attributes,
                              std::vector<SliceGradientOp>* ops);

  Kind kind;
  int inputs;        // how many the op itself has
  int values;        // the one that has the values; the others have indices, sizes or shapes
  SliceMasks masks;  // of StridedSliceGrad
  // Whether the output of an UnsortedSegmentSum passes through Transpose, and then through Reshape.
  bool transposed = false, reshaped = false;
};

}  // namespace tensor_array_grad

#endif  // CC_BASE_SLICE_GRADIENT_OP_H_
