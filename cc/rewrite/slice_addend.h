#ifndef CC_REWRITE_SLICE_ADDEND_H_
#define CC_REWRITE_SLICE_ADDEND_H_

#include <optional>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/remarks.h"

namespace tensor_array_grad {

// An operand of the sum that AddSlices takes without making the full tensor. It is a tree: a leaf
// is the gradient of a slice or, in a branch of a conditional, zeros. An inner node is a Merge, or
// an AddN in a branch or in front of an Add.
struct SliceAddend {
  // Of a leaf.
  NodeDef def;                 // op and attributes, for the `addends` of AddSlices
  std::vector<Source> inputs;  // of that op, then of Transpose and Reshape
  std::vector<Node*> nodes;    // the nodes that compute the operand, consumers first

  // Of an inner node: one of `merge` and `add`, and its inputs.
  Node* merge = nullptr;
  Node* add = nullptr;
  std::vector<SliceAddend> parts;

  bool has_slice = false;      // whether a leaf is the gradient of a slice
  bool may_be_shared = false;  // whether another tensor may share the operand's buffer
  int terms = 1;               // how many terms its sum has; of a Merge, the most of a branch
};

// Reasons why a sum is left that hold for sums in branches too. $0 is the sum.
inline constexpr char kTooManyOperands[] =
    "the sum $0 has more than eight terms, which TensorFlow adds in groups";
inline constexpr char kUnknownOrder[] =
    "the sum $0 has three or more terms, and TensorFlow adds them in an order that depends on "
    "which "
    "of them share memory with other tensors";

// Whether AddSlices sums values of `dtype`.
bool IsSummed(DataType dtype);

// Whether `node` makes the gradient of an index.
bool IsGradientOfSlice(const Node& node);

// Matches `operand` of the sum `add`. If it does not match, `why` says why not, supposing that it
// has the gradient of a slice.
std::optional<SliceAddend> MatchSliceAddend(Source operand, const Node& add, Reason* why);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_SLICE_ADDEND_H_
