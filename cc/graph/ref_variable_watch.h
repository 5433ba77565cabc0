#ifndef CC_GRAPH_REF_VARIABLE_WATCH_H_
#define CC_GRAPH_REF_VARIABLE_WATCH_H_

#include "absl/status/status.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tensor_array_grad {

// Tells the kernels (core/ref_variables.h) when a graph about to be executed has a ref variable.
//
// Changes nothing, and looks at graphs that LinearGradientPass leaves alone too. Registered at
// POST_REWRITE_FOR_EXEC, and at POST_PARTITIONING for the workers of a distributed session, which
// run no earlier pass. O(nodes).
class RefVariableWatch : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_REF_VARIABLE_WATCH_H_
