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
// A path through a NextIteration leads to the next iteration. So it does not count between nodes of
// one iteration, and two in a row do not count between those of two iterations.
//
// Two things are not shown. A path may lead through a branch that is not taken. And what a loop in
// the executor computes in one iteration may wait for a later one: TensorFlow asks of programs that
// they do not depend on this (parallel_iterations).
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
  // have to come first, and the other. O(e) for e edges, and once for each of these nodes.
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

  // Where a walk through the graph goes: along edges, or also from each node of a loop with a
  // RunLoop to all others.
  enum class Along { kEdges, kForwards, kBackwards };

  void Add(const Frame& frame, const tensorflow::FunctionLibraryDefinition* library);
  // The nodes that a walk from `from` reaches, by id. It does not go on at one of `ends`.
  NodeSet Reach(Nodes from, const NodeSet& ends, Along along) const;
  NodeSet Only(const NodeSet& reached) const;
  // What comes after `first` in an iteration of `frame`, which is around it, and in the next one.
  const Later& After(const Waiting& first, const Frame& frame);
  // Leaves `before` and `after` empty if there are no two of these nodes.
  Sides SidesOf(const Frame& loop) const;
  // Whether a path leads from `first` to `later` in the same iteration of `frame`.
  bool LeadsTo(const Waiting& first, const Waiting& later, const Frame& frame);
  // Whether RunLoop only puts `first` in front of `other`, both in `loop`, where a path leads from
  // that to this: in an iteration one to the other, and from each iteration to the next.
  bool AreInOrder(const Waiting& first, const Waiting& other, const Frame& loop);

  std::vector<Waiting> nodes_;
  NodeSet nexts_;                        // all NextIterations, by id
  std::vector<const Frame*> run_loops_;  // by id: the loop with a RunLoop to which a node belongs
  std::map<std::pair<size_t, const Frame*>, Later> after_;  // what After has returned
};

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_WAITING_NODES_H_
