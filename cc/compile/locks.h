#ifndef CC_COMPILE_LOCKS_H_
#define CC_COMPILE_LOCKS_H_

#include <vector>

#include "absl/status/status.h"
#include "cc/compile/program.h"
#include "cc/flow/graph_names.h"

namespace tensor_array_grad {

// Returns OK if the outermost loop `code` may take its locks (kTakesLock) in the order of its
// instructions. `nodes` is Program::nodes.
//
// A critical section of the user's program is a MutexLock, ops that wait for it, and a
// ConsumeMutexLock that waits for these ops and reads the lock. In a program the lock is given up
// after the last read of its register. The executor runs two sections of one iteration side by
// side, so one may wait for the other. A program runs instruction after instruction:
//
//     MutexLock -> a;  MutexLock -> b;  ConsumeMutexLock a;  ConsumeMutexLock b
//
// If both locks are of one mutex, the second instruction would wait forever. Therefore:
//
//   - No instruction may take a lock while the loop has one.
//   - Each lock must be given up in the iteration that takes it.
//   - Nothing but a ConsumeMutexLock may read a lock, because another op could keep it.
//
// Returns FailedPrecondition, "several locks at once: node", otherwise.
absl::Status CheckLocks(const LoopCode& code, const std::vector<const Node*>& nodes);

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_LOCKS_H_
