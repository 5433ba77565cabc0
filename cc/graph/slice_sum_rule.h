#ifndef CC_GRAPH_SLICE_SUM_RULE_H_
#define CC_GRAPH_SLICE_SUM_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Replaces the addition of a slice's gradient by an addition to the part of the tensor that the
// slice was taken from. The gradient of an index is a tensor of the full size that is zero outside
// of that part.
//
//   AddN([a, G(..), H(..)])  ->  TensorArrayGrad>AddSlices(a, .., ..)
//
// where G and H are StridedSliceGrad (the gradient of x[i]), Pad (of tf.slice), UnsortedSegmentSum
// (of tf.gather and embedding lookups; also transposed and reshaped, for other axes) or ScatterNd
// (of tf.gather_nd). If a loop indexes a tensor of N values, an iteration of its backward loop then
// costs as much as the slice that was read, not N.
//
// An operand may be a Merge, for which a conditional chooses between such gradients and zeros. A
// second Merge is made for it, whose inputs are the variants of SliceGradients.
//
// The order of the additions stays. Operands between these gradients are added by an AddN of their
// own; if all operands are such gradients, the first one stays a full tensor. The rule leaves two
// kinds of sums alone: those whose order depends on timing, and those of more than eight operands,
// which AddN adds eight at a time. It applies only if G has no other consumer and is on the device
// of the sum, and if that device has a kernel for the new op.
class SliceSumRule : public Rule {
 public:
  const char* name() const override { return "slice_sum"; }
  const char* op() const override { return "AddN"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_SLICE_SUM_RULE_H_
