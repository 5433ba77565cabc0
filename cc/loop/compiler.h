#ifndef CC_LOOP_COMPILER_H_
#define CC_LOOP_COMPILER_H_

#include "absl/status/statusor.h"
#include "cc/loop/frame.h"
#include "cc/loop/program.h"

namespace tensor_array_grad {

// The program of `frame`, an outermost loop to be run in one kernel. O(n log n) for n nodes, but
// O(k^2) for the k readers of one value.
//
// The code ends before the iteration that is not taken; the stock loop behind the op runs that one.
// FailedPrecondition, "reason: detail", where the loop must be left to the executor.
absl::StatusOr<Program> Compile(const Frame& frame);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_COMPILER_H_
