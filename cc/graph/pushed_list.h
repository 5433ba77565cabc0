#ifndef CC_GRAPH_PUSHED_LIST_H_
#define CC_GRAPH_PUSHED_LIST_H_

#include <map>
#include <vector>

#include "cc/graph/loop_variable.h"
#include "cc/graph/node_util.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// A pushed list: a list that a forward loop pushes to and, unless it is never read, the backward
// loop that pops from it. while_v2 makes one for each intermediate that the gradient of a loop
// needs:
//
//     EmptyTensorList -> variable of the forward loop:   TensorListPushBack(list, value)
//             `-> Exit -> variable of the backward loop: TensorListPopBack(list)
//
// with one push per forward iteration and one pop per backward iteration. No other node reads the
// list between the EmptyTensorList and the last pop. All nodes are on one device. The pops have no
// control inputs and ask for no element shape: that input is -1.
struct PushedList {
  LoopVariable pushed{};
  tensorflow::Node* push = nullptr;
  LoopVariable popped{};                 // unset if never read
  tensorflow::Node* pop = nullptr;       // null if never read
  std::vector<tensorflow::Node*> links;  // the Identity nodes that pass the list on

  bool never_read() const { return pop == nullptr; }
  Source value() const { return InputOf(*push, 1); }
};

// The pushed lists of one forward loop, in the order in which their nodes were made.
struct PushedLists {
  std::vector<PushedList> never_read;
  // By Node::id() of the LoopCond of the backward loop that pops.
  std::map<int, std::vector<PushedList>> by_reader;
};

PushedLists PushedListsOf(const tensorflow::Node& loop_cond);

// Passes the control edges of `from` on to `to`, a variable of the same loop. The NextIteration of
// `to` also waits for what that of `from` waits for. If both variables have an Exit, nodes that
// wait for the Exit of `from` wait for that of `to` instead.
void HandOver(const LoopVariable& from, const LoopVariable& to, tensorflow::Graph* graph);

// Removes the nodes of `list`. The EmptyTensorList and the shape input of the pop are removed only
// if nothing else uses them. Requires: nothing reads what the pop outputs.
void RemovePushedList(const PushedList& list, tensorflow::Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_PUSHED_LIST_H_
