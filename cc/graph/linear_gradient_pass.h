#ifndef CC_GRAPH_LINEAR_GRADIENT_PASS_H_
#define CC_GRAPH_LINEAR_GRADIENT_PASS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "cc/core/counters.h"
#include "cc/graph/rule.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tensor_array_grad {

// Whether graphs prepared from now on are rewritten. On at start. Graphs that were prepared before,
// that is functions that ran already, stay as they are. Thread-safe.
void SetGraphPassEnabled(bool enabled);
bool IsGraphPassEnabled();

// Runs the rules over each graph that the runtime is about to execute.
//
// Registered at POST_REWRITE_FOR_EXEC, when nodes are placed and loops are lowered, and after XLA
// has taken its clusters out. Does nothing where the kernels of ListAccumulate are not registered,
// that is, where the library is inactive. Counts rewrites as `graph.<rule>`, and logs them as
// TENSOR_ARRAY_GRAD_LOG asks (cc/core/log.h).
//
// A rule that fails, which none should, costs the user's program nothing: the graph becomes what it
// was before the pass, the failure is logged as a warning and counted as `graph_pass.failures`.
class LinearGradientPass : public tensorflow::GraphOptimizationPass {
 public:
  LinearGradientPass();  // with all rules
  // The rules in the order in which they run. Their counters stay listed for ever, so that the pass
  // must too.
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
