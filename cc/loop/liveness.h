#ifndef CC_LOOP_LIVENESS_H_
#define CC_LOOP_LIVENESS_H_

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cc/graph/node_util.h"
#include "cc/loop/frame.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Which outputs of a frame's nodes are alive in an iteration.
//
// A conditional in a graph is Switch nodes, which make one of their outputs *dead*, and Merge
// nodes, which pass on the input that is alive. The executor does not run a node that has a dead
// input, data or control, and makes its outputs dead; ControlTrigger alone always runs.
//
// A *condition* is one reason to be dead: one side of the Switches by one predicate, which is dead
// unless the predicate has that value; or a Merge of which nothing is known, which may be dead for
// reasons of its own. An output is alive exactly if all of its conditions hold. So the conditions
// of a node are those of all its inputs, a Switch adds its side, and a Merge over all sides of one
// predicate takes that away again:
//
//     x ----> Switch(x, p) :1 {p=1} -> Square {p=1} --> Merge {}
//                          :0 {p=0} -> Neg    {p=0} --/
//
// The loop's own Switches count as well: what the body computes has the condition "LoopCond=1".
// Sets are closed: where p itself has the condition q=1, what has p=1 also has q=1.
using Conditions = std::vector<int>;  // ids, sorted

class Liveness {
 public:
  // One reason to be dead.
  struct Condition {
    Source predicate = {nullptr, 0};  // no node: a Merge of which nothing is known
    int side = 0;                     // the value that `predicate` must have
    int sides = 0;                    // how many there are; 2 for a bool
    Conditions implied;               // what holds wherever this condition holds
  };

  // Describes `frame`, whose items are given in OrderOf's order. The values that enter the frame,
  // and the loop's own Merges, count as alive.
  Liveness(const Frame& frame, const std::vector<Item>& order);

  const Condition& condition(int id) const { return all_[id]; }
  int size() const { return static_cast<int>(all_.size()); }

  // The conditions of an output.
  const Conditions& Of(Source source) const;

  // The conditions under which `node` runs: those of all that it reads and waits for.
  const Conditions& OfNode(const tensorflow::Node& node) const;

  // Whether all variables of a loop in this frame are alive together and its constants with them.
  // A loop for which this is not so may run in part.
  bool EntersAsOne(const Frame& loop) const;

  // The conditions of a loop's variables. Requires: EntersAsOne(loop).
  const Conditions& OfLoop(const Frame& loop) const;

  // The id of the condition that `predicate` is `side`, or -1 if no Switch of `sides` outputs reads
  // it.
  int Find(Source predicate, int side, int sides = 2) const;

  // The condition that `merge` is alive for unknown reasons, or -1 if they are known.
  int FindUnknown(const tensorflow::Node& merge) const;

  // `conditions` without those that follow from others in it.
  Conditions Minimal(const Conditions& conditions) const;

  // Whether no iteration has both.
  bool Exclude(const Conditions& a, const Conditions& b) const;

 private:
  Conditions Inputs(const tensorflow::Node& node) const;
  void AddSwitch(const tensorflow::Node& node);
  void AddMerge(const tensorflow::Node& node);
  void AddLoop(const Frame& loop);
  int Side(Source predicate, int side, int sides, const Conditions& implied);
  bool Completes(const std::vector<Conditions>& inputs, Conditions* common) const;

  const Frame& frame_;
  std::vector<Condition> all_;
  // By node id and slot of the predicate, side, and how many sides there are: an index beyond the
  // last output takes that one, so that side 2 of 3 is another condition than side 2 of 5.
  std::map<std::tuple<int, int, int, int>, int> sides_;
  std::unordered_map<const tensorflow::Node*, int> unknown_;
  std::unordered_map<const tensorflow::Node*, Conditions> of_node_;
  std::map<std::pair<const tensorflow::Node*, int>, Conditions> of_output_;  // of Switches
  std::unordered_map<const Frame*, Conditions> of_loop_;                     // that enter as one
};

// What `source` is a copy of: follows Identity nodes.
Source CopiedFrom(Source source);

// The union of two sets of conditions.
Conditions Both(const Conditions& a, const Conditions& b);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_LIVENESS_H_
