#ifndef CC_REWRITE_PUSHED_LIST_H_
#define CC_REWRITE_PUSHED_LIST_H_

#include <map>
#include <utility>
#include <vector>

#include "cc/flow/graph_names.h"
#include "cc/flow/loop_variable.h"
#include "cc/flow/node_util.h"
#include "cc/flow/remarks.h"

namespace tensor_array_grad {

// A list to which a forward loop pushes, with the nodes that handle it in the forward loop and,
// unless the list is never read, in the backward loop that pops from it. while_v2 makes such a list
// for each intermediate that the gradient of a loop needs:
//
//     EmptyTensorList -> variable of the forward loop:   TensorListPushBack(list, value)
//             `-> Exit -> variable of the backward loop: TensorListPopBack(list)
//
// with one push per forward iteration and one pop per backward iteration. No other node reads the
// list between the EmptyTensorList and the last pop. All nodes are on one device. The pop has no
// control inputs and requests no element shape: that input is -1.
struct PushedList {
  LoopVariable pushed{};
  Node* push = nullptr;
  LoopVariable popped{};     // unset if the list is never read
  Node* pop = nullptr;       // null if the list is never read
  std::vector<Node*> links;  // the Identity nodes that pass the list on

  bool never_read() const { return pop == nullptr; }
  Source value() const { return InputOf(*push, 1); }
};

// The pushed lists of one forward loop, in the order in which their nodes were made.
struct PushedLists {
  std::vector<PushedList> never_read;
  // The key is the Node::id() of the LoopCond of the backward loop that pops.
  std::map<int, std::vector<PushedList>> by_reader;
  // The pushes to lists that are no pushed lists, and why not.
  std::vector<std::pair<const Node*, Reason>> left;
};

// Finds the pushed lists of the loop of `loop_cond`, a LoopCond.
PushedLists PushedListsOf(const Node& loop_cond);

// Gives the control edges of `from` to `to`, a variable of the same loop: the NextIteration of `to`
// gets the control inputs of that of `from`, and, if both variables have an Exit, nodes that wait
// for the Exit of `from` wait for that of `to` instead. Must be called before `from` is removed.
void MoveControlEdges(const LoopVariable& from, const LoopVariable& to, Graph* graph);

// Removes the nodes of `list`. The EmptyTensorList and the shape input of the pop are removed only
// if no other node uses them. Requires: no node reads an output of the pop, except the list's own
// NextIteration.
void RemovePushedList(const PushedList& list, Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_PUSHED_LIST_H_
