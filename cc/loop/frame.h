#ifndef CC_LOOP_FRAME_H_
#define CC_LOOP_FRAME_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The part of a graph that TensorFlow's executor runs once per iteration of one while loop.
//
// A lowered loop is a ring of five kinds of nodes for each variable:
//
//     x -> Enter -> Merge -> Switch(., LoopCond) :1 -> body -> NextIteration -> (back to the Merge)
//                                                :0 -> Exit -> ...
//
// Enter leads into the frame, Exit out of it. An Enter that is_constant brings in a value that all
// iterations share. A node *belongs* to the frame in which it reads its inputs: the Enter nodes of
// a loop belong to the frame around the loop, its Exit nodes to its own frame.
//
// The *root frame* is what lies outside of all loops; its name is empty and it has no parent.
struct Frame {
  std::string name;
  Frame* parent = nullptr;
  std::vector<Frame*> children;               // in order of the smallest node id of an Enter
  std::vector<tensorflow::Node*> nodes;       // that belong here, by id
  std::vector<tensorflow::Node*> enters;      // that lead here; they belong to `parent`
  std::vector<tensorflow::Node*> loop_conds;  // one, unless the graph was made by hand

  bool is_root() const { return parent == nullptr; }
};

// All frames of a graph. The nodes stay the graph's; a change of the graph makes the tree stale.
class FrameTree {
 public:
  // O(nodes + edges). FailedPrecondition for graphs whose frames are not nested properly.
  static absl::StatusOr<FrameTree> Of(const tensorflow::Graph& graph);

  const Frame& root() const { return *frames_.front(); }

 private:
  std::vector<std::unique_ptr<Frame>> frames_;  // the root first
};

// A node, or a loop as a whole: what is ordered within one frame. The Enter and Exit nodes of the
// loop are part of it.
struct Item {
  tensorflow::Node* node = nullptr;
  const Frame* loop = nullptr;
};

// The items of `frame`, each behind all that it reads or waits for in the same iteration.
//
// Sequential execution in this order is one of the orders that the executor allows. Among those it
// is the one that defers ops that make a new version of a list (TensorListSetItem and so on) until
// all other readers of that list have run, or nothing else can: the update then finds itself the
// only owner and works in place. FailedPrecondition where the items wait for each other.
absl::StatusOr<std::vector<Item>> OrderOf(const Frame& frame);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_FRAME_H_
