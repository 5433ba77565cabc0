#ifndef CC_RUN_CODE_RUNNER_H_
#define CC_RUN_CODE_RUNNER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "cc/flow/graph_names.h"
#include "cc/run/executable.h"
#include "cc/run/kernel_names.h"
#include "cc/small_ops/value.h"

namespace tensor_array_grad {

// Registers and flags, and the execution of instructions on them. Each node runs as in TensorFlow's
// executor: with the same kernels, resources, cancellation and errors. An error names the node that
// failed, as the executor's errors do.
//
// Not thread-safe: each thread has its own CodeRunner. Every method except the queries may throw
// std::bad_alloc, as kernels may. After an exception or an error only the queries and the
// destructor may be called. The destructor releases the contents of all registers.
class CodeRunner {
 public:
  using Code = std::vector<Instruction>;

  // The registers are empty, except those of the program's constants. `executable` and `ctx`, the
  // context of the op RunLoop, must outlive the runner.
  CodeRunner(const Executable& executable, OpKernelContext* ctx);

  Value& at(int reg) { return registers_[reg]; }

  // Runs the instructions in order. If `ns` is not null, adds the time of instruction i in
  // nanoseconds to ns[i].
  absl::Status Run(const Code& code, double* ns);

  // Runs the condition of a frame. Returns an error if the run was cancelled.
  absl::Status RunCondition(const LoopCode& code, double* ns);

  // Runs the body of a frame, without the moves of `next`.
  absl::Status RunBody(const LoopCode& code, double* ns);

  void Do(const std::vector<Move>& moves);

  // Reads the predicate of `code` after its condition has run. Returns an error if it is not a
  // scalar.
  absl::Status Predicate(const LoopCode& code, bool* taken);

  int64_t nodes() const { return nodes_; }  // nodes that the executor would have run until now

 private:
  absl::Status RunTimed(const Code& code, double* ns);
  absl::Status RunOne(const Instruction& instruction);
  absl::Status RunKernel(const Instruction& instruction);
  absl::Status Branch(const Instruction& instruction);
  void Merge(const Instruction& instruction);
  absl::Status RunInnerLoop(const Instruction& instruction);

  // Returns false, and has changed nothing, if the kernel must run instead.
  bool RunSmall(const Instruction& instruction, const NodeKernel& node);
  absl::Status CheckCancelled(const LoopCode& code);
  // Adds the name of node `node` (an index into Program::nodes) to `error`.
  absl::Status AtNode(const absl::Status& error, int node) const;
  // Adds the name of the node `def`, and of the inlined calls that it is in.
  absl::Status At(const absl::Status& error, const NodeDef& def) const;
  bool Holds(const Flags& guards) const;

  const Executable& executable_;
  tensorflow::OpKernelContext::Params params_;
  std::vector<Value> registers_;
  std::vector<char> flags_;                      // by number, 1 where the requirement holds
  std::vector<tensorflow::TensorValue> inputs_;  // of the kernel that runs now
  std::vector<tensorflow::AllocatorAttributes> attributes_;  // default ones, enough for any node
  int64_t nodes_ = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_RUN_CODE_RUNNER_H_
