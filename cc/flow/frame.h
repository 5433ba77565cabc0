#ifndef CC_FLOW_FRAME_H_
#define CC_FLOW_FRAME_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cc/flow/graph_names.h"

namespace tensor_array_grad {

// The part of a graph that TensorFlow's executor runs once per iteration of one while loop.
//
// A lowered loop has a cycle of these nodes for each of its variables:
//
//     x -> Enter -> Merge -> Switch(., LoopCond) :1 -> body -> NextIteration -> (back to the Merge)
//                                                :0 -> Exit -> ...
//
// Enter brings a value into the frame and Exit takes one out of it. An Enter with the attribute
// is_constant brings in a value that all iterations share. A node *belongs* to the frame in which
// it reads its inputs: the Enter nodes of a loop belong to the frame around the loop, its Exit
// nodes to its own frame.
//
// The *root frame* contains the nodes outside of all loops. Its name is empty and it has no parent.
struct Frame {
  std::string name;
  Frame* parent = nullptr;
  std::vector<Frame*> children;   // ordered by the smallest id of an Enter node
  std::vector<Node*> nodes;       // the nodes that belong to this frame, by id
  std::vector<Node*> enters;      // the Enters into this frame; belong to `parent`
  std::vector<Node*> loop_conds;  // one, unless the graph was written by hand

  bool is_root() const { return parent == nullptr; }
};

// All frames of a graph. The graph owns the nodes and must outlive the tree. The tree does not
// follow later changes of the graph.
class FrameTree {
 public:
  // Finds the frames of `graph`. O(n log n + edges) for n nodes. Returns FailedPrecondition if
  // TensorFlow rejects the nesting of the frames, if a node cannot be reached, or if a frame is in
  // more than 200 others.
  static absl::StatusOr<FrameTree> Of(const Graph& graph);

  const Frame& root() const { return *frames_.front(); }

 private:
  std::vector<std::unique_ptr<Frame>> frames_;  // the root first
};

// Returns `before`, followed by the nodes of `frame` and of all frames inside it.
std::vector<Node*> NodesIn(const Frame& frame, std::vector<Node*> before = {});

// One entry of an order (OrderOf): either a node of the frame, or an inner loop as a whole together
// with its Enter and Exit nodes. The other pointer is null.
struct Item {
  Node* node = nullptr;
  const Frame* loop = nullptr;
  // Whether the item is LoopCond, or LoopCond depends on it within the iteration, by data or
  // control edges. Such items must run before the body, because they decide whether the body runs.
  bool in_condition = false;
};

// Returns the items of `frame` in an order in which each comes after all items that it reads or
// waits for in the same iteration.
//
// Running the items one after the other in this order is one of the executions that TensorFlow's
// executor allows. An op that makes a new version of a list (TensorListSetItem and so on) is
// deferred until all other readers of that list have run, or until nothing else can run. In the
// first case no other node of the frame needs the old version, and the op can work in place.
//
// Returns FailedPrecondition if items wait for each other.
absl::StatusOr<std::vector<Item>> OrderOf(const Frame& frame);

}  // namespace tensor_array_grad

#endif  // CC_FLOW_FRAME_H_
