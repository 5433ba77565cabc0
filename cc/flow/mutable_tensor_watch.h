#ifndef CC_FLOW_MUTABLE_TENSOR_WATCH_H_
#define CC_FLOW_MUTABLE_TENSOR_WATCH_H_

#include "absl/status/status.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tensor_array_grad {

// Sets the flag of cc/base/mutable_tensors.h, which the kernels read, if a graph about to be
// executed, or a function that it calls at any depth, has an op that changes tensors in place.
//
// The pass changes no graph. It also searches graphs that RewritePass skips. It is registered at
// POST_REWRITE_FOR_EXEC, and at POST_PARTITIONING for the workers of a distributed session, which
// run no earlier pass. O(nodes) per graph; O(1) once such an op has been found. Run always returns
// OK.
class MutableTensorWatch : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override;
};

}  // namespace tensor_array_grad

#endif  // CC_FLOW_MUTABLE_TENSOR_WATCH_H_
