#ifndef CC_GRAPH_LINEAR_GRADIENT_PASS_H_
#define CC_GRAPH_LINEAR_GRADIENT_PASS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "cc/core/counters.h"
#include "cc/graph/rule.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tensor_array_grad {

// Whether graphs that are prepared for execution from now on are rewritten. On at start. Graphs
// that were prepared before, for example functions that ran already, stay as they are. Thread-safe.
void SetGraphPassEnabled(bool enabled);
bool IsGraphPassEnabled();

// Runs the rules over each graph that the runtime is about to execute.
//
// Registered at POST_REWRITE_FOR_EXEC: nodes are placed, loops are lowered, and XLA has taken out
// its clusters. A rule that puts in an op of this library does nothing on a device without a kernel
// for it, hence nothing where the library is inactive; RecomputeRule puts in stock ops only. Counts
// rewrites as `graph.<rule>`, and logs them as TENSOR_ARRAY_GRAD_LOG asks (cc/core/log.h).
//
// If a rule fails, which is a defect of the rule, the user's program still runs: the graph is
// restored to what it was before the pass, the failure is logged as a warning and counted as
// `graph_pass.failures`.
class LinearGradientPass : public tensorflow::GraphOptimizationPass {
 public:
  LinearGradientPass();  // with all rules
  // Takes the rules in the order in which they run. The pass must never be destroyed, because the
  // counters of its rules stay registered.
  explicit LinearGradientPass(std::vector<std::unique_ptr<Rule>> rules);

  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override;

 private:
  // A rule and the count of its rewrites.
  struct CountedRule {
    std::unique_ptr<Rule> rule;
    std::unique_ptr<Counter> rewrites;
  };

  absl::Status ApplyAll(const tensorflow::GraphOptimizationPassOptions& options) const;

  std::vector<CountedRule> rules_;
};

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_LINEAR_GRADIENT_PASS_H_
