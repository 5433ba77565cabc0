#ifndef CC_FLOW_LOOP_VARIABLE_H_
#define CC_FLOW_LOOP_VARIABLE_H_

#include <optional>
#include <unordered_set>
#include <vector>

#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"

namespace tensor_array_grad {

// A variable of a while loop: one of the cycles that frame.h draws, which the runtime makes when it
// lowers loops (common_runtime/lower_while_op.cc).
struct LoopVariable {
  Node* enter;
  Node* merge;
  Node* switch_node;
  Node* next;  // the NextIteration
  Node* exit;  // null if there is none

  Source initial() const { return InputOf(*enter, 0); }  // the value in the first iteration
  Source update() const { return InputOf(*next, 0); }    // the value in the next iteration
  Node* loop_cond() const { return InputOf(*switch_node, 1).node; }
};

// The Enter and the NextIteration that feed the Merge of a loop variable.
struct LoopMerge {
  Node* enter;
  Node* next;
};

// The inputs of `merge`; nothing if it is not the Merge of a loop variable.
std::optional<LoopMerge> LoopMergeOf(const Node& merge);

// The variable whose Switch is `switch_node`; nothing if `switch_node` is null or is not such a
// Switch.
std::optional<LoopVariable> LoopVariableOf(Node* switch_node);

// All variables of the loop of `loop_cond`, a LoopCond, in the order in which their nodes were
// made: a loop counter comes first.
std::vector<LoopVariable> LoopVariablesOf(const Node& loop_cond);

// The output outside of the loop of which `value`, which is read in the loop, is a copy in every
// iteration. Nothing unless `value` is a constant of the loop or a variable that never changes.
std::optional<Source> FromOutside(Source value);

// Whether `node` is a pivot of the loop's body: an Identity whose only input is output 1 of a
// Switch by `loop_cond`. It runs once in each iteration whose condition is true, and so does a node
// that waits for it and for nothing else.
bool IsBodyPivot(const Node& node, const Node& loop_cond);

// Whether `node` has no control inputs but pivots of the loop's body.
bool WaitsForBodyAlone(const Node& node, const Node& loop_cond);

// Makes `next`, a NextIteration, wait for `enter`, a constant of the same loop, so that a node of
// every iteration depends on the constant.
//
// The executor checks whether the first iteration is done when one of its nodes finishes, not when
// a constant arrives. If the constant arrives last and makes no node ready, the check is never
// made, and the loop makes no progress after parallel_iterations iterations (propagator_state.cc,
// PropagateOutputs). An optimizer may remove the other readers of the constant, so `next` must be a
// NextIteration that is never removed.
void AnchorConstant(Node* enter, Node* next, Graph* graph);

// Whether all nodes of the variable are on one device.
bool IsOnOneDevice(const LoopVariable& variable);

// Nodes by Node::id(). Unlike an address, an id is never given to another node.
using NodeIds = std::unordered_set<int>;

// The nodes of the body of the loop of `variables` that depend on a variable, and not only on the
// loop's constants. They are dead in the last iteration, whose condition is false.
NodeIds BodyOf(const std::vector<LoopVariable>& variables);

// Whether an in-edge of `node` comes from one of `nodes` that is not in `except`. Control edges
// from a Switch do not count.
bool RunsAfter(const Node& node, const NodeIds& nodes, const NodeIds& except);

}  // namespace tensor_array_grad

#endif  // CC_FLOW_LOOP_VARIABLE_H_
