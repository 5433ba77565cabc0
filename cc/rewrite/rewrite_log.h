#ifndef CC_REWRITE_REWRITE_LOG_H_
#define CC_REWRITE_REWRITE_LOG_H_

#include <string>
#include <utility>
#include <vector>

#include "cc/flow/graph_names.h"
#include "cc/rewrite/rule.h"

namespace tensor_array_grad {

// The rewrites of one graph: for each rule its name and its rewrites, in the order in which the
// rules ran.
using Rewrites = std::vector<std::pair<std::string, std::vector<Rewrite>>>;

// One line per loop of the rewritten `graph` with the number of rewrites of each rule, ordered by
// the names of the loops: "loop while: accumulate_into_list 2, loop_stack 3". A rewrite counts for
// the loop that has the new node; rewrites outside of loops share a line.
std::vector<std::string> SummaryPerLoop(const Graph& graph, const Rewrites& rewrites);

// One line per rewrite, with the names of the nodes: "accumulate_into_list: a, b -> c".
std::vector<std::string> LinePerRewrite(const Rewrites& rewrites);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_REWRITE_LOG_H_
