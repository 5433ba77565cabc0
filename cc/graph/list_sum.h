#ifndef CC_GRAPH_LIST_SUM_H_
#define CC_GRAPH_LIST_SUM_H_

#include <optional>

#include "cc/graph/node_util.h"
#include "cc/graph/sum_chain.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

inline constexpr char kAccumulateLike[] = "TensorArrayGrad>ListAccumulateLike";

// The list that `operand` is, if it is SetItem(Reserve(shape, n), i, x) and only `consumer` reads
// it: to be added by ListAccumulate, or by ListAccumulateLike where shape and n are another list's.
std::optional<Addend> MatchOneElementList(Source operand, const tensorflow::Node& consumer);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_LIST_SUM_H_
