#ifndef CC_REWRITE_LIST_SUM_H_
#define CC_REWRITE_LIST_SUM_H_

#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/rule.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

inline constexpr char kAccumulateLike[] = "TensorArrayGrad>ListAccumulateLike";

// An operand of an AddN over lists that is a list with only one set element, and the op that adds
// the element to another list without making the one-element list.
struct Addend {
  tensorflow::NodeDef op;                // the op that adds the element, without name and inputs
  std::vector<Source> inputs;            // its inputs after the list to which it adds
  std::vector<tensorflow::Node*> nodes;  // the nodes that compute the operand, consumers first
  bool waits = true;                     // whether the op takes over the control inputs of `nodes`
  bool has_stock_form = true;            // whether stock's ops can do the same in a short time
};

// Matches `operand` if it is SetItem(Reserve(shape, n), i, x), `consumer` is its only consumer, and
// the requirements of AccumulateIntoListRule hold, except for the kernel. The op of the result is
// ListAccumulateLike if shape and n are read from another list, else ListAccumulate.
std::optional<Addend> MatchOneElementList(Source operand, const tensorflow::Node& consumer);

// Replaces `add`, an AddN, by a chain with a link for each of `addends`, which are its operands by
// index. The chain begins with the sum of the other operands, or with the first operand if all are
// addends. A link is the op of the addend. On a device without a kernel for it, because stock's
// list kernels are kept, the link consists of stock's ops, which read the element and write it:
//
//   SetItem(list, i, AddN(GetItem(list, i, Shape(x)), x))
//
// Such a sum may give 0.0 where AddN gives -0.0, if the slot had no value, since GetItem reads it
// as 0.0. Removes `add` and the nodes of the addends that nothing else uses, and appends one entry
// per addend to `done`. Changes nothing if there are no addends or if a kernel is missing.
absl::Status AccumulateInstead(tensorflow::Node* add, std::map<int, Addend> addends,
                               tensorflow::Graph* graph, std::vector<Rewrite>* done);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_LIST_SUM_H_
