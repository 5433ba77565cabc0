#ifndef CC_LOOP_REWRITE_H_
#define CC_LOOP_REWRITE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/loop/frame.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Returns the outermost loops of a graph that can run in one kernel. Where a loop cannot, looks at
// the loops inside it. Calls `left` for each loop that cannot, with an error "reason: detail".
std::vector<const Frame*> FindLoops(
    const Frame& root, const std::function<void(const Frame&, const absl::Status&)>& left);

// Puts a RunLoop op in front of `loop`, on the loop's device. On error the graph is as it was.
absl::Status InsertRunLoop(const Frame& loop, tensorflow::Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_REWRITE_H_
