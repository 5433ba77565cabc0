#ifndef CC_GRAPH_LOOP_VARIABLE_H_
#define CC_GRAPH_LOOP_VARIABLE_H_

#include <optional>
#include <unordered_set>
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

// All variables of the loop that goes on while `loop_cond`, a LoopCond, is true, in the order in
// which their nodes were made: a loop counter comes first.
std::vector<LoopVariable> LoopVariablesOf(const tensorflow::Node& loop_cond);

// Where `value`, which is read in a loop, comes from outside of it if it is the same in every
// iteration: it is a constant of the loop, or a variable that never changes.
std::optional<Source> FromOutside(Source value);

// Whether the loop of `variables` takes a list along: as a variable, or as a constant of the loop.
bool CarriesList(const std::vector<LoopVariable>& variables, const tensorflow::Graph& graph);

// Whether `node` is a body gate of the loop: an Identity that a gate alone feeds, and only while
// the loop goes on. Whoever waits for it runs once in each step that is taken.
bool IsBodyGate(const tensorflow::Node& node, const tensorflow::Node& loop_cond);

// Whether `node` waits for nothing but body gates of the loop.
bool WaitsForBodyAlone(const tensorflow::Node& node, const tensorflow::Node& loop_cond);

// Makes every step of the loop of `next` wait for `enter`, a constant of the loop. The executor
// looks whether the first step is done when one of its nodes ends, not when the last constant
// arrives: were it the constant that comes last and gave no node anything to do, the loop would
// stand still after parallel_iterations steps (propagator_state.cc, PropagateOutputs). An optimizer
// may take the readers of the constant away; `next` has to be one that nothing takes.
void AnchorConstant(tensorflow::Node* enter, tensorflow::Node* next, tensorflow::Graph* graph);

// The same, but removes a constant that nobody reads and that waits for nothing.
void RemoveOrAnchorConstant(tensorflow::Node* enter, tensorflow::Node* next,
                            tensorflow::Graph* graph);

// Whether the enter and the next step feed this merge alone. Optimizers make one node of equal
// ones.
bool HasRingOfItsOwn(const LoopVariable& variable);

// Whether all nodes of the ring sit on one device.
bool IsOnOneDevice(const LoopVariable& variable);

// Nodes by Node::id(), which, unlike their addresses, are never given to another node.
using NodeIds = std::unordered_set<int>;

// The nodes of a loop that run because a step does, not by constants of the loop alone. Those of
// the body are dead in the last step, whose condition is false; those of the condition are not.
struct StepNodes {
  NodeIds whole;  // condition and body
  NodeIds body;

  explicit StepNodes(const std::vector<LoopVariable>& variables);
};

// Whether an in-edge of `node` that comes from none of `except` comes from one of `nodes`.
bool RunsAfter(const tensorflow::Node& node, const NodeIds& nodes, const NodeIds& except);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_LOOP_VARIABLE_H_
