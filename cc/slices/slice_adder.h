#ifndef CC_SLICES_SLICE_ADDER_H_
#define CC_SLICES_SLICE_ADDER_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cc/device/functors.h"
#include "cc/slices/slice_gradient.h"
#include "cc/slices/slice_gradient_sum.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"

namespace tensor_array_grad {

// The gradients of slices that a node of ours takes: its attribute `addends`, a serialised NodeDef
// for each, and the inputs of these, one behind the other.
class SliceAddends {
 public:
  // Those of a node with `attributes`. `inputs`: how many of its inputs are the addends'.
  static absl::Status Of(const tensorflow::AttrSlice& attributes, int inputs,
                         SliceAddends* addends);

  int size() const { return static_cast<int>(ops_.size()); }
  const SliceGradientOp& op(int addend) const { return ops_[addend]; }

  // Appends the terms of addend number `addend`, whose inputs begin with number *input, and moves
  // that on.
  absl::Status Read(int addend, absl::Span<const tensorflow::Tensor* const> inputs, int* input,
                    SliceGradients* terms) const;

 private:
  std::vector<SliceGradientOp> ops_;
};

// An error as AddN's, in the name of `node`, unless the terms are of that shape.
absl::Status RequireShape(absl::string_view node, const tensorflow::TensorShape& shape,
                          absl::Span<const SliceGradient> terms);

// What the op AddSlices adds: gradients of slices, to the parts of a sum that they belong to, where
// stock adds tensors of the whole size. Immutable.
//
// The values are those of stock's sum, in its order. What comes behind the sum so far is added to
// it, one after the other. What comes before the sum is summed first: AddN([g, h, sum]) is
// (g + h) + sum, and so is what one branch has summed. To that end the values that g and h touch
// are taken out of the sum, which keeps -0 in their places; g and h are added there; then what was
// taken is added. With the sum 5 at a place that both touch, and g = 1 and h = 2:
//
//     take for g: 5, leaves -0    take for h: -0    add g, h: -0 + 1 + 2 = 3    add 5, add -0: 8
//
// -0 changes no value that it is added to, not even 0 or -0.
class SliceAdder {
 public:
  // What is to be added, in order.
  struct Terms {
    SliceGradients terms;
    absl::InlinedVector<size_t, 2> ends;  // of each group, the terms of which are summed first

    int64_t values() const;  // of all terms
  };

  // The adder of a node with `attributes`: `addends`, and how many of them come `before` input 0.
  // `inputs`: how many inputs the node has.
  static absl::Status Of(const tensorflow::AttrSlice& attributes, int inputs, SliceAdder* adder);

  // Reads the inputs of `node`, the first of which is the sum. An error where stock has one.
  absl::Status Read(absl::string_view node, absl::Span<const tensorflow::Tensor* const> inputs,
                    Terms* terms) const;

  // Adds `terms`, which Read made for this sum, in place. Changes nothing on error: the only one is
  // that memory runs out.
  static absl::Status Add(const Terms& terms, cpu::ParallelFor run, tensorflow::Tensor* sum);

  // Adds the only addend in place, if its values follow each other in the sum and are at most
  // `most` numbers. False, and nothing has changed, if they are not. Requires:
  // CanAdd(sum->dtype()).
  bool AddOneRun(absl::Span<const tensorflow::Tensor* const> inputs, int64_t most,
                 tensorflow::Tensor* sum) const;

  // Counts a sum that was changed in place of a copy.
  static void CountInPlace();

 private:
  SliceAddends addends_;
  int before_ = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_SLICES_SLICE_ADDER_H_
