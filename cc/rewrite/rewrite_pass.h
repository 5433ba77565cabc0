#ifndef CC_REWRITE_REWRITE_PASS_H_
#define CC_REWRITE_REWRITE_PASS_H_

#include <vector>

#include "absl/status/status.h"
#include "cc/rewrite/rule.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tensor_array_grad {

// Sets and returns whether graphs that are prepared for execution from now on are rewritten.
// Initially true. Graphs that were prepared before, for example functions that have already run,
// are not affected. Thread-safe.
void SetGraphPassEnabled(bool enabled);
bool IsGraphPassEnabled();

// Runs the rules over each graph that the runtime is about to execute.
//
// The pass is registered at POST_REWRITE_FOR_EXEC. Nodes are then placed, loops are lowered, and
// XLA has cut out its clusters. A rule that inserts an op of this library checks that the device
// has a kernel for it; if the library is inactive, no device has. RecomputeRule inserts only stock
// ops. Rewrites are counted as `graph.<rule>`, and logged if the environment variable
// TENSOR_ARRAY_GRAD_LOG asks for it (cc/base/log.h).
//
// If a rule fails, which is a defect of the rule, the user's program still runs: the graph is
// restored to what it was before the pass, and the failure is logged as a warning and counted as
// `graph_pass.failures`. Run always returns OK.
class RewritePass : public tensorflow::GraphOptimizationPass {
 public:
  RewritePass();  // with all rules
  // Takes the rules in the order in which they run.
  explicit RewritePass(const std::vector<Rule>& rules);

  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override;

 private:
  absl::Status ApplyAll(const tensorflow::GraphOptimizationPassOptions& options) const;

  const std::vector<Rule> rules_;
};

}  // namespace tensor_array_grad

#endif  // CC_REWRITE_REWRITE_PASS_H_
