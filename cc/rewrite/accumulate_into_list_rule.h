#ifndef CC_REWRITE_ACCUMULATE_INTO_LIST_RULE_H_
#define CC_REWRITE_ACCUMULATE_INTO_LIST_RULE_H_

#include <vector>

#include "cc/rewrite/rule.h"

namespace tensor_array_grad {

// Replaces the addition of a one-element list by an addition to one element of a list.
//
// The gradient of reading element i of a list is a list in which only element i is set. TensorFlow
// sums such lists with AddN. For each such operand this rule makes one op, and several ops form a
// chain:
//
//   AddN([a, TensorListSetItem(TensorListReserve(shape, n), i, x), ..])
//     ->  TensorArrayGrad>ListAccumulate(a, i, x, shape, n)
//     ->  TensorArrayGrad>ListAccumulateLike(a, i, x, l) if shape and n are those of a list l
//
// The rule applies only if the one-element list has no other consumer, its TensorListSetItem cannot
// resize it, the element types agree, all nodes are on one device, and that device has a kernel for
// the new op. Several TensorListSetItem may share one TensorListReserve, because an earlier
// optimization merges equal nodes; the TensorListReserve is removed with the last of them. The
// length and element shape of `a` are known only at run time, so the new op gets those of the
// removed list and makes the checks that AddN makes. Operands that are not one-element lists are
// summed first, so a sum of three or more operands may be rounded differently.
class AccumulateIntoListRule : public Rule {
 public:
  const char* name() const override { return "accumulate_into_list"; }
  const char* op() const override { return "AddN"; }
  absl::Status Apply(tensorflow::Node* node, tensorflow::Graph* graph,
                     std::vector<Rewrite>* done) const override;
};

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_ACCUMULATE_INTO_LIST_RULE_H_
