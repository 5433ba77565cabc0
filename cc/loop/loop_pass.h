#ifndef CC_LOOP_LOOP_PASS_H_
#define CC_LOOP_LOOP_PASS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tensor_array_grad {

// Whether loops of graphs prepared from now on run in one kernel. On at start, unless
// TENSOR_ARRAY_GRAD_LOOPS is off in the environment. Thread-safe.
void SetLoopsEnabled(bool enabled);
bool AreLoopsEnabled();

// Counts a loop that is left to TensorFlow's executor, as `loops.left.<reason>`, and logs it.
void CountLeft(absl::string_view loop, const absl::Status& why);

// Puts a RunLoop op in front of each while loop that can run in one kernel.
//
//     before:  x -> Enter -> Merge ... Exit -> y
//     after:   x -> RunLoop -> Enter -> Merge ... Exit -> y
//
// RunLoop runs the iterations; the stock loop evaluates the condition once more, finds it false and
// leaves. Wherever RunLoop cannot go on, it hands over what the variables are by then, and the
// stock loop goes on from there. A loop that cannot run in one kernel is left as it is, and the
// loops inside of it are looked at.
//
// Registered at POST_PARTITIONING, behind the passes that choose kernels by renaming nodes, so that
// both run the same kernels; and at POST_REWRITE_FOR_EXEC, where it only notes which devices belong
// to this process. A graph is changed only when all of it has been looked at, and an
// error leaves it as it was.
class LoopPass : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override;
};

}  // namespace tensor_array_grad

#endif  // CC_LOOP_LOOP_PASS_H_
