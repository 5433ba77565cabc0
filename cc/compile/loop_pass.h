#ifndef CC_COMPILE_LOOP_PASS_H_
#define CC_COMPILE_LOOP_PASS_H_

#include "absl/status/status.h"
#include "cc/base/loop_record.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"

namespace tensor_array_grad {

// Sets whether loops may run in one kernel, for graphs that are prepared from now on. Initially
// true, unless the environment variable TENSOR_ARRAY_GRAD_LOOPS is off, 0 or false. Thread-safe.
void SetLoopsEnabled(bool enabled);
// The present setting. Thread-safe.
bool AreLoopsEnabled();

// Counts where a loop runs, as `loops.rewritten` or `loops.left.<reason>`, and logs it.
// Thread-safe.
void Report(const LoopRecord& record);

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
// Registered at POST_PARTITIONING, after the passes that rename nodes to choose other kernels
// (oneDNN's), so that RunLoop and the stock loop run the same kernels. Also registered at
// POST_REWRITE_FOR_EXEC, where it only records which devices belong to this process.
//
// The pass examines all loops of a graph before it changes the first. Each loop is changed by
// itself: one that cannot be changed stays as it was, and the others are changed. Run always
// returns OK.
class LoopPass : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override;
};

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_LOOP_PASS_H_
