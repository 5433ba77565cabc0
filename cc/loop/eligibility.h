#ifndef CC_LOOP_ELIGIBILITY_H_
#define CC_LOOP_ELIGIBILITY_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// FailedPrecondition, "reason: detail": a loop is left to TensorFlow's executor.
absl::Status Left(absl::string_view reason, const tensorflow::Node& node);

// The reason in what Left and others returned: the text before the colon.
absl::string_view ReasonOf(const absl::Status& left);

// Whether a kernel of `node` can be called from a loop that runs in one kernel: it works on values
// of this device only, ends before Compute returns, does not wait for other ops, and keeps no state
// of its own that the same node in the stock loop would not see.
absl::Status CheckNode(const tensorflow::Node& node);

// Whether running `node` once more than the program says cannot be noticed. The stock loop behind
// the op evaluates the condition again.
absl::Status CheckCondition(const tensorflow::Node& node);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_ELIGIBILITY_H_
