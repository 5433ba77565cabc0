#ifndef CC_REWRITE_REWRITE_LOG_H_
#define CC_REWRITE_REWRITE_LOG_H_

#include <map>
#include <string>
#include <vector>

#include "cc/flow/graph_names.h"
#include "cc/flow/remarks.h"

namespace tensor_array_grad {

// Whether rules are to make remarks: loops are watched (loop_record.h), or the log has remarks.
// Thread-safe.
bool AreRemarksWanted();

// The frame of each node, by the node's name; "" outside of loops. Empty if the graph's control
// flow is invalid.
using Frames = std::map<std::string, std::string>;
Frames FramesOf(const Graph& graph);

// Sets Rewrite::loop and Remark::loop. Nodes that the rewritten `graph` lacks are in `before`.
void SetLoops(const Graph& graph, Frames before, GraphRemarks* remarks);

// Adds to the LoopCond of each loop of `graph` what is known of the loop, as the attribute
// kRemarksOfLoop. Requires: SetLoops.
void MarkLoops(const GraphRemarks& remarks, Graph* graph);

// One line per loop with the number of rewrites of each rule, ordered by the names of the loops:
// "loop while: accumulate_into_list 2, loop_stack 3". A rewrite counts for the loop that has the
// new node; rewrites outside of loops share a line.
std::vector<std::string> SummaryPerLoop(const GraphRemarks& remarks);

// One line per rewrite, with the names of the nodes, "accumulate_into_list: a, b -> c", then one
// per remark, "slice_sum missed a in loop while: the gradient ..".
std::vector<std::string> LinePerRewrite(const GraphRemarks& remarks);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_REWRITE_LOG_H_
