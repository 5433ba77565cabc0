#ifndef CC_COMPILE_WAITING_NODES_H_
#define CC_COMPILE_WAITING_NODES_H_

#include <vector>

#include "absl/status/status.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"
#include "tensorflow/core/framework/function.h"

namespace tensor_array_grad {

// The nodes of a graph that may wait for another one although no edge leads from that to them: an
// op of a queue, a function of Python, a value of another device.
//
// A RunLoop puts nodes in an order. It starts when all inputs of its loop are there, runs the nodes
// of the loop one after the other, and ends before its outputs are read. In the executor, a value
// may leave the loop while another one has not entered it yet:
//
//     dequeue ──> RunLoop ──> x               x is doubled in each iteration, and the counter i is
//     0 ────────>         ──> i ──> enqueue   enqueued, for which the dequeue waits
//
// Here the enqueue would have to wait for the dequeue, and the program would stand still. So the
// loop is left to the executor if it puts one of these nodes behind another to which no path leads
// from that one. What is not shown by this: that a path also leads there in a run in which a branch
// is not taken, or a loop has no iteration.
//
// A lock is none of these nodes: what waits for it waits for another step, or for an iteration
// (locks.h).
class WaitingNodes {
 public:
  // `root` is the root of a FrameTree, and `library` has the functions that the graph calls. Both
  // must outlive the object, and the graph must stay as it is. O(n) for n nodes.
  WaitingNodes(const Frame& root, const tensorflow::FunctionLibraryDefinition* library);

  // Returns OK if a RunLoop may be put in front of `loop`; otherwise an error (Rejected) that names
  // the node that would have to come first. O(k * e) for k of these nodes and e edges.
  absl::Status Check(const Frame& loop) const;

 private:
  using Nodes = std::vector<const Node*>;

  // Where such nodes are: a value that enters the loop needs them, they are in the loop, or need a
  // value that leaves it.
  struct Sides {
    Nodes before, inside, after;
  };

  // Leaves `before` and `after` empty if nodes_ has no two nodes.
  Sides SidesOf(const Frame& loop) const;

  Nodes nodes_;
  int ids_ = 0;  // more than any node's id
};

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_WAITING_NODES_H_
