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

// An operand of an AddN over lists, a list of one element, that one of our ops adds without it.
struct Addend {
  tensorflow::NodeDef op;                // that op, without name and inputs
  std::vector<Source> inputs;            // of that op, behind the list that it adds to
  std::vector<tensorflow::Node*> nodes;  // that make the operand, each before those that feed it
  bool waits = true;                     // whether that op waits for what these wait for
};

// The list that `operand` is, if it is SetItem(Reserve(shape, n), i, x) and only `consumer` reads
// it: to be added by ListAccumulate, or by ListAccumulateLike where shape and n are another list's.
std::optional<Addend> MatchOneElementList(Source operand, const tensorflow::Node& consumer);

// Replaces `add`, an AddN, by one op for each of `addends`, which are its operands by index, behind
// the sum of the others, or behind the first where there are no others. Does nothing where there
// are none or a kernel is missing.
absl::Status AccumulateInstead(tensorflow::Node* add, std::map<int, Addend> addends,
                               tensorflow::Graph* graph, std::vector<Rewrite>* done);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_LIST_SUM_H_
