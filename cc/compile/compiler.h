#ifndef CC_COMPILE_COMPILER_H_
#define CC_COMPILE_COMPILER_H_

#include "absl/status/statusor.h"
#include "cc/compile/program.h"
#include "cc/flow/frame.h"

namespace tensor_array_grad {

// Compiles `frame`, an outermost loop, into a program that runs it in one kernel.
//
// The program stops when the condition is false. The stock loop, which comes after RunLoop in the
// graph, then evaluates the condition again and runs the nodes that TensorFlow runs when LoopCond
// is false. The program refers to nodes of the graph, which must outlive it.
//
// The items of a frame are compiled one by one in the order of OrderOf, first those of the
// condition (Item::in_condition), then the others (the body). An inner loop is compiled recursively
// when it is reached. At the end, LoopCode::next moves the new values of the variables to the
// registers of their Merges, and MarkLastReaders (readers.h) decides where registers are emptied.
//
// An instruction is guarded by the flags of its requirements (program.h), without those that the
// others imply. LoopCond=1 needs no flag, because the body runs only if LoopCond is true. A Merge
// with an unknown requirement sets a flag of its own. A node with the requirement LoopCond=0 runs
// only after the last iteration. In the outermost loop it is left to the stock loop. In an inner
// loop only an Exit may have this requirement.
//
// Invariant: a register or flag exists before the code of an instruction that reads it is made. No
// frame is known that violates this. Such a loop would be left to the executor as a "failure",
// which is a fault of the compiler.
//
// O(n log n) for n nodes, plus O(k^2) for k readers of one value, up to 64 readers (readers.cc).
//
// Returns FailedPrecondition, "reason: detail", if the loop must be left to the executor.
absl::StatusOr<Program> Compile(const Frame& frame);

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_COMPILER_H_
