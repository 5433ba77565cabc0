#ifndef CC_LOOP_COMPILER_H_
#define CC_LOOP_COMPILER_H_

#include "absl/status/statusor.h"
#include "cc/loop/frame.h"
#include "cc/loop/program.h"

namespace tensor_array_grad {

// Compiles `frame`, an outermost loop, into a program that runs it in one kernel.
//
// The program stops when the condition is false. The stock loop, which comes after RunLoop in the
// graph, then evaluates the condition again and runs the nodes that TensorFlow runs when LoopCond
// is false.
//
// O(n log n) for n nodes, plus O(k^2) for k readers of one value, up to 64 readers (readers.cc).
// InOrder (readers.h) is at worst cubic in the loop's variables.
//
// Returns FailedPrecondition, "reason: detail", if the loop must be left to the executor.
absl::StatusOr<Program> Compile(const Frame& frame);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_COMPILER_H_
