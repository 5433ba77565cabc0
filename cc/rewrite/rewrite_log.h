#ifndef CC_REWRITE_REWRITE_LOG_H_
#define CC_REWRITE_REWRITE_LOG_H_

#include <map>
#include <string>
#include <vector>

#include "cc/flow/graph_names.h"
#include "cc/rewrite/remarks.h"

namespace tensor_array_grad {

// Sets whether the remarks on graphs that are rewritten from now on are kept for TakeRemarks.
// Initially false. Thread-safe.
void SetRemarksWanted(bool wanted);

// Whether rules are to make remarks: they are kept, or the log has them. Thread-safe.
bool AreRemarksWanted();

// Keeps `graph`, if remarks are kept and it has anything. At most 10,000 rewrites and remarks are
// kept, besides those of the newest graph: the oldest graphs are dropped. Thread-safe.
void KeepRemarks(GraphRemarks graph);

// Returns what has been kept since the last call, the oldest graph first, and forgets it.
// Thread-safe.
std::vector<GraphRemarks> TakeRemarks();

// The frame of each node, by the node's name; "" outside of loops. Empty if the graph's control
// flow is invalid.
using Frames = std::map<std::string, std::string>;
Frames FramesOf(const Graph& graph);

// Sets Rewrite::loop and Remark::loop. Nodes that the rewritten `graph` lacks are in `before`.
void SetLoops(const Graph& graph, Frames before, GraphRemarks* remarks);

// One line per loop with the number of rewrites of each rule, ordered by the names of the loops:
// "loop while: accumulate_into_list 2, loop_stack 3". A rewrite counts for the loop that has the
// new node; rewrites outside of loops share a line.
std::vector<std::string> SummaryPerLoop(const GraphRemarks& remarks);

// One line per rewrite, with the names of the nodes, "accumulate_into_list: a, b -> c", then one
// per remark, "slice_sum missed a in loop while: the gradient ..".
std::vector<std::string> LinePerRewrite(const GraphRemarks& remarks);

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_REWRITE_LOG_H_
