#ifndef CC_FLOW_LIVENESS_H_
#define CC_FLOW_LIVENESS_H_

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"

namespace tensor_array_grad {

// What the outputs of a frame's nodes require to be live in an iteration.
//
// A conditional in a graph consists of Switch nodes, which make all but one of their outputs
// *dead*, and Merge nodes, which pass on a live input. The executor does not run a node that has a
// dead data or control input, and makes its outputs dead. There are two exceptions: a Merge runs if
// one of its data inputs is live, and a ControlTrigger always runs.
//
// A *requirement* must hold for an output to be live. There are two kinds. One is a *side* of
// the Switches that read one predicate: it holds if the predicate has that value. The other is
// *unknown*: it belongs to a Merge, or to the Exit of a loop, that may be dead for reasons that are
// not analysed.
//
// An output is live if and only if all of its requirements hold. So a node has the requirements of
// all its inputs, a Switch adds a side to each of its outputs, and a Merge of all sides of one
// predicate removes them again:
//
//     x ----> Switch(x, p) :1 {p=1} -> Square {p=1} --> Merge {}
//                          :0 {p=0} -> Neg    {p=0} --/
//
// The loop's own Switches count as well: values that the body computes have the requirement
// "LoopCond=1". Sets are closed under implication: if p itself has the requirement q=1, each set
// that contains p=1 also contains q=1.
//
// A predicate may be *known*: it is a Const, or NoteKnownValues has marked the Enter from which it
// comes. In a TF1 conditional, all inputs of a loop are outputs of Switches by the predicate p. The
// backward loop gets p as a constant, and has Switches by p itself. Since it runs only if p is
// true, p is known in it. A Switch by a known predicate adds no requirement to its output on the
// known side, and its other output is never live.
using Requirements = std::vector<int>;  // ids, sorted

inline bool Has(const Requirements& requirements, int id) {
  return std::binary_search(requirements.begin(), requirements.end(), id);
}

class Liveness {
 public:
  // One requirement for an output to be live.
  struct Requirement {
    Source predicate = {nullptr, 0};  // no node: an unknown requirement
    int side = 0;                     // the value that `predicate` must have
    int sides = 0;                    // number of sides; 2 for a bool
    Requirements implied;             // requirements that hold wherever this one holds
  };

  // Requires: `order` is OrderOf(frame), and `frame` and its graph outlive this object. Values that
  // enter the frame, and the Merges of the loop's variables, count as live.
  Liveness(const Frame& frame, const std::vector<Item>& order);

  const Requirement& requirement(int id) const { return all_[id]; }
  int size() const { return static_cast<int>(all_.size()); }

  // The requirements of an output. Empty for a value that enters the frame.
  const Requirements& Of(Source source) const;

  // The requirements for `node` to run: those of all its data and control inputs. For a Merge,
  // the requirements of its output.
  const Requirements& OfNode(const Node& node) const;

  // True if all variables of the inner loop `loop` have the same requirements, and its
  // constants whenever the variables are. If not, the loop may run with some of its inputs dead. A
  // variable may be live without the others if nothing in the loop can tell: see AddLoop.
  bool EntersAsOne(const Frame& loop) const;

  // The requirements of a loop's variables. Requires: EntersAsOne(loop).
  const Requirements& OfLoop(const Frame& loop) const;

  // Whether `requirements` contain one that never holds.
  bool AreNeverLive(const Requirements& requirements) const { return Has(requirements, never_); }

  // Marks the Enters of the constants of `loop` that must have a known value if all inputs of the
  // loop are live. The marks are attributes, so copies of the nodes have them too. They hold for a
  // RunLoop in front of `loop`, which runs only then, and not for the stock loop: see
  // ForgetKnownValues. Requires: EntersAsOne(loop).
  void NoteKnownValues(const Frame& loop) const;

  // The id of the requirement that `predicate` has the value `side`, or -1 if no Switch with
  // `sides` outputs reads the predicate.
  int Find(Source predicate, int side, int sides = 2) const;

  // The id of the unknown requirement of `merge`, or -1 if it has none.
  int FindUnknown(const Node& merge) const;

  // `requirements` without those that others in the set imply.
  Requirements Minimal(const Requirements& requirements) const;

  // True if `a` and `b` contain different sides of one predicate, so that no iteration has both.
  bool Exclude(const Requirements& a, const Requirements& b) const;

 private:
  Requirements Inputs(const Node& node) const;
  void AddSwitch(const Node& node);
  void AddMerge(const Node& node);
  void AddLoop(const Frame& loop);
  void AddSwitchByKnown(const Node& node, int known);
  bool Completes(const std::vector<Requirements>& inputs, Requirements* common) const;

  std::vector<Requirement> all_;
  bool has_recv_ = false;  // whether a value of the frame comes from another device
  int never_ = -1;         // the id of the requirement that never holds; -1 if no Switch needed it
  // The key is the predicate's node id and slot, the side and the number of sides. The number is
  // part of it because an index beyond the last output selects the last one: side 2 of 3 is another
  // requirement than side 2 of 5.
  std::map<std::tuple<int, int, int, int>, int> sides_;
  std::unordered_map<const Node*, int> unknown_;
  std::unordered_map<const Node*, Requirements> of_node_;
  std::map<std::pair<const Node*, int>, Requirements> of_output_;  // of Switches
  std::unordered_map<const Frame*, Requirements> of_loop_;         // only loops that enter as one
};

// The attribute with which NoteKnownValues marks an Enter: 0 or 1. A graph from a file may have it
// at any node.
constexpr char kKnownValue[] = "_tensor_array_grad_known_value";

// Removes the marks of NoteKnownValues from `loop` and all loops inside it.
void ForgetKnownValues(const Frame& loop);

// `from` without the requirement with the id `requirement`.
Requirements Without(const Requirements& from, int requirement);

}  // namespace tensor_array_grad

#endif  // CC_FLOW_LIVENESS_H_
