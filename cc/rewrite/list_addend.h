#ifndef CC_REWRITE_LIST_ADDEND_H_
#define CC_REWRITE_LIST_ADDEND_H_

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/remarks.h"

namespace tensor_array_grad {

// A list that is an operand of a sum, and of which at most a few elements are set, so that it can
// be added to another list without being made. Addends form a tree:
//
//   element    SetItem(Reserve(shape, n), i, x): only element i is set
//   zeros      ZerosLike(list), in a branch
//   sum        AddN of addends, in a branch
//   branches   Merge of one addend per branch of a conditional
struct Addend {
  enum Kind { kElement, kZeros, kSum, kBranches };

  Addend(Kind which, Node* output) : kind(which), node(output) {}

  Kind kind;
  Node* node;  // its output is the list

  // kElement: the op that adds it to a list, without name and inputs, and its inputs after that
  // list. The first two are the index and the element.
  NodeDef op;
  std::vector<Source> inputs;
  // kElement: the nodes that compute the list, consumers first.
  std::vector<Node*> nodes;

  // kSum: its operands. kBranches: the inputs of the Merge.
  std::vector<Addend> parts;
  // kBranches: for each part, an output of a Switch that is live whenever the part is. All these
  // Switches have one predicate, and the outputs differ. The first Switch is on the device of
  // `node`; of the others, only the slot is used.
  std::vector<Source> sides;

  // Outputs of Switches that are live whenever the list is, one per predicate and slot.
  std::vector<Source> live_with;
};

// Matches `operand`, which `consumer` reads. Requires: all nodes of the tree are on the device of
// `consumer`; each SetItem, Merge and AddN has one consumer; a SetItem may not resize its list, and
// has the element type of the Reserve. The op of an element is TensorArrayGrad>ListAccumulateLike
// if shape and n are read from another list, else TensorArrayGrad>ListAccumulate. The root is an
// element or branches. A branch with another list, such as the output of a loop, does not match. If
// the operand does not match, `why` says why not, supposing that it has an element.
std::optional<Addend> MatchAddend(Source operand, const Node& consumer, Reason* why);

// Whether `node` is a SetItem(Reserve(..), ..), which makes a list of one element.
bool MakesElement(const Node& node);

// Calls `visit` for `addend` and all addends below it, each before its parts.
void ForEachAddend(const Addend& addend, absl::FunctionRef<void(const Addend&)> visit);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_LIST_ADDEND_H_
