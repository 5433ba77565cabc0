#ifndef CC_GRAPH_SUM_CHAIN_H_
#define CC_GRAPH_SUM_CHAIN_H_

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "cc/graph/node_util.h"
#include "cc/graph/rule.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// An operand of an AddN that is zero but for a part, which one of our ops adds without making it.
struct Addend {
  tensorflow::NodeDef op;                // that op, without name and inputs
  std::vector<Source> inputs;            // of that op, behind what it adds to
  std::vector<tensorflow::Node*> nodes;  // that make the operand, each before those that feed it
  bool waits = true;                     // whether that op waits for what these wait for
};

// Replaces `add`, an AddN, by a chain that adds its operands in their order: one op for each of
// `addends`, which are operands by index, and an AddN for those between them.
//
//   AddN([a, b, x, c, y])  ->  AddY(AddN([AddX(AddN([a, b])), c]))
//
// The chain begins with an operand that is none of them: with the second where the first is one, as
// two operands have the same sum either way; where both are, the first stays as it is. Does nothing
// where no addend is left or a kernel is missing.
absl::Status AddOneByOne(tensorflow::Node* add, std::map<int, Addend> addends,
                         tensorflow::Graph* graph, std::vector<Rewrite>* done);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_SUM_CHAIN_H_
