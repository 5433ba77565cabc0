#ifndef CC_LOOP_ELIGIBILITY_H_
#define CC_LOOP_ELIGIBILITY_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// Returns a FailedPrecondition error "reason: detail". It means that the loop is left to
// TensorFlow's executor. The second form names `node` as the detail.
absl::Status Rejected(absl::string_view reason, absl::string_view detail);
absl::Status Rejected(absl::string_view reason, const tensorflow::Node& node);

// Returns the reason in such an error: the text before the colon.
absl::string_view ReasonOf(const absl::Status& rejected);

// OK if a loop that runs in one kernel can call a kernel of `node`. The node works on values of
// this device only, finishes before Compute returns and does not wait for other ops. It keeps no
// state in its kernel, because the same node in the stock loop has another kernel object, which
// would not see that state.
absl::Status CheckNode(const tensorflow::Node& node);

// OK if it cannot be observed that `node` runs once more than the user's loop asks for. The nodes
// of the condition do: after RunLoop, the stock loop evaluates the condition again.
absl::Status CheckCondition(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_ELIGIBILITY_H_
