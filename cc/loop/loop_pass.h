#ifndef CC_LOOP_LOOP_PASS_H_
#define CC_LOOP_LOOP_PASS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tensor_array_grad {

// Whether loops of graphs that are prepared from now on run in one kernel. True at start, unless
// the environment variable TENSOR_ARRAY_GRAD_LOOPS is off, 0 or false. Thread-safe.
void SetLoopsEnabled(bool enabled);
bool AreLoopsEnabled();

// Counts a loop that is left to TensorFlow's executor, as `loops.left.<reason>`, and logs it.
void CountRejected(absl::string_view loop, const absl::Status& why);

// Puts a RunLoop op in front of each while loop that can run in one kernel.
//
//     before:  x -> Enter -> Merge ... Exit -> y
//     after:   x -> RunLoop -> Enter -> Merge ... Exit -> y
//
// RunLoop runs the iterations. The stock loop then evaluates the condition once more, finds it
// false and exits. Where RunLoop stops earlier, it outputs the current values of the variables, and
// the stock loop goes on from there. A loop that cannot run in one kernel is not changed; the pass
// then looks at the loops inside it.
//
// Registered at POST_PARTITIONING, after the passes that choose kernels by renaming nodes, so that
// RunLoop and the stock loop run the same kernels. Also registered at POST_REWRITE_FOR_EXEC, where
// it only records which devices belong to this process.
//
// A graph is changed only after all its loops have been looked at. If one loop cannot be changed,
// that loop stays as it was. Run returns OK in any case.
class LoopPass : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override;
};

}  // namespace tensor_array_grad

#endif  // CC_LOOP_LOOP_PASS_H_
