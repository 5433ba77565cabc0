#ifndef CC_SLICES_SLICE_ADDER_H_
#define CC_SLICES_SLICE_ADDER_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cc/base/slice_gradient_op.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/functors.h"
#include "cc/slices/slice_gradient.h"
#include "cc/slices/slice_gradient_sum.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {

// The gradients of slices that AddSlices or SliceGradients takes: the ops in the attribute
// `addends` (slice_gradient_op.h), and the inputs of these ops, one after the other.
class SliceAddends {
 public:
  // Reads the addends of a node with `attributes`, of whose inputs `inputs` belong to addends.
  // Returns InvalidArgument if the attributes need another number of inputs.
  static absl::Status Of(const tensorflow::AttrSlice& attributes, int inputs,
                         SliceAddends* addends);

  int size() const { return static_cast<int>(ops_.size()); }
  const SliceGradientOp& op(int addend) const { return ops_[addend]; }

  // Appends the terms of addend `addend` to `terms`. The addend's inputs begin at inputs[*input];
  // advances *input past them. The terms share the buffers of the inputs.
  absl::Status Read(int addend, absl::Span<const Tensor* const> inputs, int* input,
                    SliceGradients* terms) const;

 private:
  std::vector<SliceGradientOp> ops_;
};

// Returns AddN's error, with the name `node`, unless all terms have the shape `shape`.
absl::Status RequireShape(absl::string_view node, const TensorShape& shape,
                          absl::Span<const SliceGradient> terms);

// Adds gradients of slices to the parts of a sum to which they belong, for the op AddSlices. Stock
// adds tensors of the size of the sum instead. Immutable.
//
// The result has the values of stock's AddN, which are added in the same order, or those of an Add
// of the sum and the sum of the addends. Addends that come after the sum in the order of AddN are
// added to it one after the other. Addends that come before it are a *group*, which is summed
// first: AddN([g, h, sum]) is (g + h) + sum. The terms that one branch of a conditional has summed
// are a group too. To sum a group in place, the values of the sum at the places of g and h are
// moved out, which leaves -0 there. Then g and h are added there, and then the values that were
// moved out. Example, where the sum is 5 at a place that both g = 1 and h = 2 have:
//
//     take for g: 5, leaves -0    take for h: -0    add g, h: -0 + 1 + 2 = 3    add 5, add -0: 8
//
// This is correct because x + -0 is x for every x, also for 0 and -0.
class SliceAdder {
 public:
  // The terms to be added, in order. They consist of groups; a single addend is a group too.
  struct Terms {
    SliceGradients terms;
    absl::InlinedVector<size_t, 2> ends;  // by group: the index after its last term
    bool broadcast = false;               // whether Add broadcasts the sum, the terms or both

    int64_t values() const;  // number of values of all terms
  };

  // Makes the adder of a node with `inputs` inputs and `attributes`: `addends`; `before`, which
  // says how many of them come before input 0, the sum, in the order of AddN; and `operand`, which
  // says which operand of an Add the sum is, or -1 for an AddN. Returns InvalidArgument if the
  // attributes are inconsistent.
  static absl::Status Of(const tensorflow::AttrSlice& attributes, int inputs, SliceAdder* adder);

  // Reads the terms from the inputs of `node`, the first of which is the sum. Returns an error for
  // inputs for which stock reports one.
  absl::Status Read(absl::string_view node, absl::Span<const Tensor* const> inputs,
                    Terms* terms) const;

  // Adds `terms` to `sum` in place. Requires: Read made `terms` for this sum, and no other tensor
  // shares the buffer of `sum`. The only error is ResourceExhausted; `sum` is then unchanged.
  // terms.broadcast is false.
  static absl::Status Add(const Terms& terms, cpu::ParallelFor parallel_for, Tensor* sum);

  // Sets `result` to what stock's Add of `sum` and the sum of the terms outputs, for any shapes, or
  // returns its error. Takes as long as stock. Requires: Read made `terms` for this sum and this
  // adder, which is that of an Add.
  absl::Status Broadcast(const Terms& terms, const Tensor& sum, cpu::ParallelFor parallel_for,
                         Tensor* result) const;

  // Adds the only addend in place, if it has at most `most` values and these follow each other in
  // the sum. Otherwise, and if there are several addends, returns false and changes nothing.
  bool AddOneLine(absl::Span<const Tensor* const> inputs, int64_t most, Tensor* sum) const;

  // Counts one sum that was changed in place, not copied.
  static void CountInPlace();

 private:
  SliceAddends addends_;
  int before_ = 0;
  int operand_ = -1;
};

}  // namespace tensor_array_grad

#endif  // CC_SLICES_SLICE_ADDER_H_
