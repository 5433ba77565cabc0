#ifndef CC_LOOP_LOOP_PASS_H_
#define CC_LOOP_LOOP_PASS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tensor_array_grad {

// Sets and returns whether loops of graphs that are prepared from now on may run in one kernel.
// Initially true, unless the environment variable TENSOR_ARRAY_GRAD_LOOPS is off, 0 or false.
// Thread-safe.
void SetLoopsEnabled(bool enabled);
bool AreLoopsEnabled();

// Counts a loop that is left to TensorFlow's executor, as `loops.left.<reason>`, and logs it. `why`
// is an error of Rejected (eligibility.h). Thread-safe.
void CountRejected(absl::string_view loop, const absl::Status& why);

// Puts a RunLoop op in front of each while loop that can run in one kernel.
//
//     before:  x -> Enter -> Merge ... Exit -> y
//     after:   x -> RunLoop -> Enter -> Merge ... Exit -> y
//
// RunLoop runs the iterations and outputs the values of the variables. The stock loop then
// evaluates the condition once more, finds it false and exits. If RunLoop has handed the loop back,
// the stock loop runs the remaining iterations. A loop that cannot run in one kernel is not
// changed; the pass then examines the loops inside it.
//
// Registered at POST_PARTITIONING, after the passes that choose kernels by renaming nodes, so that
// RunLoop and the stock loop run the same kernels. Also registered at POST_REWRITE_FOR_EXEC, where
// it only records which devices belong to this process.
//
// A graph is changed only after all its loops have been examined. If one loop cannot be changed,
// that loop stays as it was. Run always returns OK.
class LoopPass : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override;
};

}  // namespace tensor_array_grad

#endif  // CC_LOOP_LOOP_PASS_H_
