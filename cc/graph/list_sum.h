#ifndef CC_GRAPH_LIST_SUM_H_
#define CC_GRAPH_LIST_SUM_H_

#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "cc/graph/node_util.h"
#include "cc/graph/rule.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

inline constexpr char kAccumulateLike[] = "TensorArrayGrad>ListAccumulateLike";

// An operand of an AddN over lists that is a one-element list, and the op that adds its element
// without making that list.
struct Addend {
  tensorflow::NodeDef op;                // the op that adds the element, without name and inputs
  std::vector<Source> inputs;            // of that op, after the list that it adds to
  std::vector<tensorflow::Node*> nodes;  // that compute the operand, consumers first
  bool waits = true;                     // whether that op takes over their control inputs
};

// Matches `operand` if it is SetItem(Reserve(shape, n), i, x) and has no consumer but `consumer`.
// The op of the result is ListAccumulateLike if shape and n are those of another list, else
// ListAccumulate.
std::optional<Addend> MatchOneElementList(Source operand, const tensorflow::Node& consumer);

// Replaces `add`, an AddN, by a chain of one op for each of `addends`, which are its operands by
// index. The chain begins with the sum of the other operands, or with the first operand if all are
// addends. Does nothing if there are no addends or a kernel is missing.
absl::Status AccumulateInstead(tensorflow::Node* add, std::map<int, Addend> addends,
                               tensorflow::Graph* graph, std::vector<Rewrite>* done);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_LIST_SUM_H_
