#ifndef CC_GRAPH_SLICE_SUM_RULE_H_
#define CC_GRAPH_SLICE_SUM_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Adds into a tensor where the gradient of an index adds a tensor that is zero but for a part.
//
//   AddN([a, G(..), H(..)])  ->  TensorArrayGrad>AddSlices(a, .., ..)
//
// where G and H are StridedSliceGrad (the gradient of x[i]), Pad (of tf.slice), UnsortedSegmentSum
// (of tf.gather and embedding lookups; also transposed and reshaped, for other axes) or ScatterNd
// (of tf.gather_nd). In the backward loop of a loop that indexes a tensor of N values, an iteration
// then costs what it reads and not N.
//
// Operands that conditionals choose from such gradients and zeros are passed through their Merges
// in variants, by SliceGradients.
//
// The order of the sum stays: operands between these are added by an AddN of their own, and where
// all are such, the first stays as it is. Sums whose order depends on time are left alone, as are
// those of more than eight operands, of which AddN adds eight at a time. Fires only where G has no
// other consumer, sits on the device of the sum, and that device has a kernel for the new op.
class SliceSumRule : public Rule {
 public:
  const char* name() const override { return "slice_sum"; }
  const char* op() const override { return "AddN"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_SLICE_SUM_RULE_H_
