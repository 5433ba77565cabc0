#ifndef CC_GRAPH_ACCUMULATE_RULE_H_
#define CC_GRAPH_ACCUMULATE_RULE_H_

#include <vector>

#include "cc/graph/rule.h"

namespace tensor_array_grad {

// Adds into a list where the gradient of a read adds a list of one element.
//
//   AddN([a, TensorListSetItem(TensorListReserve(shape, n), i, x), ..])
//     ->  TensorArrayGrad>ListAccumulate(a, i, x, shape, n), one link of a chain for each such list
//     ->  TensorArrayGrad>ListAccumulateLike(a, i, x, l) where shape and n are those of a list l
//
// Fires only where the one-element list has no other consumer, its write cannot resize, the types
// agree, all nodes sit on one device, and that device has a kernel for the new op. The reserve
// may be shared, since equal ones are merged before; it goes with its last write. The length
// and element shape of `a` are known at run time alone, so the new op gets those of the list that
// is saved and makes AddN's checks. Operands that are not one-element lists are summed first, so
// sums of three or more may round in another order.
class AccumulateRule : public Rule {
 public:
  const char* name() const override { return "accumulate"; }
  const char* op() const override { return "AddN"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_ACCUMULATE_RULE_H_
