#ifndef CC_FLOW_SUM_ORDER_H_
#define CC_FLOW_SUM_ORDER_H_

#include "cc/base/op_names.h"
#include "cc/flow/graph_names.h"

// In which order AddN adds its operands, and why that matters to code that adds nothing.
//
// TensorFlow's kernel works in place: it begins with the first operand whose buffer no other tensor
// shares, which changes places with operand 0, and then adds from left to right. A sum of two
// operands is the same in both orders. With three or more, the rounding of the sum depends on which
// operands share their buffers at that moment.
//
// So sharing is part of a result, although no op reads it. *Sharing parity*: whatever takes the
// place of a kernel or of a node must output a tensor that shares a buffer exactly if the kernel's
// output would. A small op copies where its kernel copies; a number in a register remembers whether
// the kernel's tensor would share its buffer; a rule keeps a reference that it could have dropped,
// if the graph has a sum of three or more operands.
namespace tensor_array_grad {

// The most operands that AddN adds from left to right. It adds more in groups.
constexpr int kMostInOrder = 8;

// Whether the rounding of the sum that `node` computes depends on which of its operands share their
// buffers.
inline bool DependsOnSharing(const Node& node) {
  return node.type_string() == ops::kAddN && node.num_inputs() > 2;
}

}  // namespace tensor_array_grad

#endif  // CC_FLOW_SUM_ORDER_H_
