#ifndef CC_GRAPH_LOOP_VARIABLE_H_
#define CC_GRAPH_LOOP_VARIABLE_H_

#include <optional>
#include <vector>

#include "cc/graph/node_util.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// A variable of a while loop, as the runtime lowers loops (common_runtime/lower_while_op.cc):
//
//     initial -> enter -> merge -> gate --1--> body ... -> next -> back to merge
//                                   `----0--> exit -> who reads the result
//
// The gate is a Switch that opens while the loop goes on. All gates of a loop have one LoopCond.
struct LoopVariable {
  tensorflow::Node* enter;
  tensorflow::Node* merge;
  tensorflow::Node* gate;
  tensorflow::Node* next;
  tensorflow::Node* exit;  // null where there is none

  Source initial() const { return InputOf(*enter, 0); }
  Source update() const { return InputOf(*next, 0); }  // what it is in the next step
};

// The variable that `gate` is the gate of, if `gate` is a Switch in such a ring; else nothing.
std::optional<LoopVariable> LoopVariableOf(tensorflow::Node* gate);

// All variables of the loop that goes on while `loop_cond`, a LoopCond, is true.
std::vector<LoopVariable> LoopVariablesOf(const tensorflow::Node& loop_cond);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_LOOP_VARIABLE_H_
