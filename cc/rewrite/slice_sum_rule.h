#ifndef CC_REWRITE_SLICE_SUM_RULE_H_
#define CC_REWRITE_SLICE_SUM_RULE_H_

#include <vector>

#include "cc/rewrite/rule.h"

namespace tensor_array_grad {

// Replaces the addition of a slice's gradient by an addition to the part of the tensor that the
// slice was taken from. The gradient of an index is a tensor of the full size that is zero outside
// of that part.
//
//   AddN([a, G(..), H(..)])  ->  TensorArrayGrad>AddSlices(a, .., ..)
//
// where G and H are StridedSliceGrad (the gradient of x[i]), Pad (of tf.slice), UnsortedSegmentSum
// (of tf.gather and embedding lookups; also transposed and reshaped, for other axes) or ScatterNd
// (of tf.gather_nd). If a loop indexes a tensor of N values, the cost of an iteration of its
// backward loop is then proportional to the size of the slice that was read, not to N.
//
// An operand may be a Merge, the output of a conditional that computes such gradients or zeros. A
// second Merge is made for it, whose inputs are variants made by SliceGradients.
//
// The order of the additions is kept. Operands between these gradients are added by a separate
// AddN. If all operands are such gradients, the first one stays a full tensor. The rule does not
// apply to sums whose order depends on timing, nor to sums of more than eight operands, which AddN
// adds in groups. It applies only if no other node reads G, if G is on the device of the sum, and
// if that device has a kernel for the new op.
class SliceSumRule : public Rule {
 public:
  const char* name() const override { return "slice_sum"; }
  const char* op() const override { return "AddN"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_SLICE_SUM_RULE_H_
