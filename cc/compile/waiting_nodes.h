#ifndef CC_COMPILE_WAITING_NODES_H_
#define CC_COMPILE_WAITING_NODES_H_

#include <map>
#include <utility>
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
// from that one. Several loops, one after the other, put nodes in an order together.
//
// A path is one in the same iteration of all loops around both nodes: what a NextIteration leads to
// is in the next one. From each iteration to the next, a path leads through one NextIteration. A
// path through another loop goes through its body, as one iteration does.
//
// What is not shown: a path may lead through a branch that is not taken, through more iterations of
// a loop than it has, or to some iterations of a loop only. And what a loop in the executor
// computes in one iteration may wait for a later one: TensorFlow asks of programs that they do not
// depend on this (parallel_iterations).
//
// A lock is none of these nodes: what waits for it waits for another step, or for an iteration
// (locks.h).
class WaitingNodes {
 public:
  // `root` is the root of a FrameTree, and `library` has the functions that the graph calls. Both
  // must outlive the object, and the graph must stay as it is. O(n) for n nodes.
  WaitingNodes(const Frame& root, const tensorflow::FunctionLibraryDefinition* library);

  // Returns OK if a RunLoop may be put in front of `loop`, besides those in front of all loops for
  // which this was returned before; otherwise an error (Rejected) that names the node that would
  // have to come first, and the other. O(e + k^2) for e edges and k of these nodes, and once O(e)
  // for each of them.
  absl::Status Check(const Frame& loop);

 private:
  using Nodes = std::vector<const Node*>;
  using NodeSet = std::vector<bool>;  // by id, or by Waiting::index

  // A node that may wait.
  struct Waiting {
    const Node* node;
    const Frame* frame;  // to which it belongs
    size_t index;        // in nodes_
  };
  using Several = std::vector<const Waiting*>;

  // Where such nodes are: a value that enters the loop needs them, they are in the loop, or need a
  // value that leaves it.
  struct Sides {
    Several before, inside, after;
  };

  // Those to which a path leads from one of them, by index.
  struct Later {
    NodeSet same, next;  // in the same iteration of a frame; in the next one
  };

  // Where a walk through the graph goes: along edges; or also from each node of a loop with a
  // RunLoop to all others.
  enum class Along { kEdges, kForwards, kBackwards };

  void Add(const Frame& frame, const tensorflow::FunctionLibraryDefinition* library);
  // The NextIterations of `frame` and of all frames around it, by id.
  NodeSet NextsOf(const Frame& frame) const;
  // The nodes that a walk from `from` reaches, by id. It does not go on at one of `ends`.
  NodeSet Reach(Nodes from, const NodeSet& ends, Along along) const;
  // What comes after `first` in the same iteration of `frame`, and in the next one.
  const Later& After(const Waiting& first, const Frame& frame);
  // Leaves `before` and `after` empty if there are no two of these nodes.
  Sides SidesOf(const Frame& loop) const;
  // Whether a path leads from `first` to `later` in the same iteration of `frame`.
  bool LeadsTo(const Waiting& first, const Waiting& later, const Frame& frame);
  // Whether, of two nodes in `loop`, one leads to the other in each iteration, and `first` leads to
  // `other` in the next iteration of each loop around both, up to `loop`.
  bool AreInOrder(const Waiting& first, const Waiting& other, const Frame& loop);

  std::vector<Waiting> nodes_;
  std::vector<const Frame*> run_loops_;  // by id: the loop with a RunLoop to which a node belongs
  std::map<std::pair<size_t, const Frame*>, Later> after_;  // what After has returned
};

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_WAITING_NODES_H_
