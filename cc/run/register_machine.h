#ifndef CC_RUN_REGISTER_MACHINE_H_
#define CC_RUN_REGISTER_MACHINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cc/device/kernel_names.h"
#include "cc/run/executable.h"
#include "cc/run/lock_wait.h"
#include "cc/small_ops/value.h"

namespace tensor_array_grad {

// Registers and flags, and the execution of instructions on them. Each node runs as in TensorFlow's
// executor: with the same kernels, resources, cancellation and errors. An error names the node that
// failed, as the executor's errors do.
//
// Not thread-safe: each thread has its own RegisterMachine. Every method except the queries may
// throw std::bad_alloc, as kernels may. After an exception or an error only the queries and the
// destructor may be called. The destructor releases the contents of all registers.
class RegisterMachine {
 public:
  using Code = absl::Span<const Instruction>;

  // The registers are empty, except those of the program's constants. `executable` and `ctx`, the
  // context of the op RunLoop, must outlive the machine.
  RegisterMachine(const Executable& executable, OpKernelContext* ctx);

  Value& at(int reg) { return registers_[reg]; }

  // Executes the instructions in order. If `ns` is not null, adds the time of instruction i in
  // nanoseconds to ns[i]. With `traced`, the trace of a profiler gets their events (trace.h).
  absl::Status Execute(Code code, double* ns, bool traced);

  // Executes the condition of a frame. Returns an error if the run was cancelled.
  absl::Status ExecuteCondition(const LoopCode& code, double* ns, bool traced);

  // Executes the body of a frame, without the moves of `next`. Stops at an instruction that takes a
  // lock, and returns OK: is_waiting() is then true. When CallAfterWait has called back, the next
  // call goes on after that instruction, on any thread.
  absl::Status ExecuteBody(const LoopCode& code, double* ns, bool traced);

  bool is_waiting() const { return wait_ != nullptr; }

  // Calls `go_on` once, at once or on another thread, when the wait is over. Requires:
  // is_waiting(). The machine must not be destroyed before.
  void CallAfterWait(std::function<void()> go_on) { wait_->CallAfterEnd(std::move(go_on)); }

  void Do(const std::vector<Move>& moves);

  // Reads the predicate of `code` after its condition has run. Returns an error if it is not a
  // scalar.
  absl::Status Predicate(const LoopCode& code, bool* taken);

  int64_t nodes() const { return nodes_; }  // nodes that the executor would have run until now

 private:
  absl::Status ExecuteWatched(Code code, double* ns, bool traced);
  absl::Status ExecuteOne(const Instruction& instruction);
  absl::Status ExecuteKernel(const Instruction& instruction);
  // Puts the outputs of a kernel that has run into registers, and releases its inputs.
  absl::Status TakeOutputs(const Instruction& instruction, OpKernelContext* ctx);
  // Calls the kernel, which has its inputs. Returns an error that ExecuteBody does not pass on.
  absl::Status StartWait(const Instruction& instruction);
  absl::Status Branch(const Instruction& instruction);
  void Merge(const Instruction& instruction);
  absl::Status RunInnerLoop(const Instruction& instruction);

  // Returns false, and has changed nothing, if the kernel must run instead.
  bool ExecuteSmall(const Instruction& instruction, const NodeKernel& node);
  // `error` with the name of `node`, an index into Program::nodes, and of the inlined calls that it
  // is in.
  absl::Status AtNode(const absl::Status& error, int node) const;
  // The error of a Switch or LoopCond, whose predicate is no scalar.
  absl::Status NoScalar(Value& predicate, int node);
  bool Holds(const Flags& guards) const;
  // The name of the event of an instruction, a kKernel or kLoop, which runs next.
  std::string EventOf(const Instruction& instruction);
  // The dtypes and shapes of the inputs, as in the executor's events.
  std::string ShapesOf(const Instruction& instruction);

  const Executable& executable_;
  tensorflow::OpKernelContext::Params params_;
  std::vector<Value> registers_;
  std::vector<char> flags_;                      // by number, 1 where the requirement holds
  std::vector<tensorflow::TensorValue> inputs_;  // of the kernel that runs now
  std::vector<tensorflow::AllocatorAttributes> attributes_;  // default ones, enough for any node
  std::unique_ptr<LockWait> wait_;                           // null unless is_waiting()
  int64_t nodes_ = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_RUN_REGISTER_MACHINE_H_
