#ifndef CC_LOOP_INTERPRETER_H_
#define CC_LOOP_INTERPRETER_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "cc/loop/executable.h"
#include "cc/loop/hand_back.h"
#include "cc/loop/value.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {

// One run of a program. Executes the iterations of the loop one after the other on the calling
// thread. Each node runs as in TensorFlow's executor: with the same kernels, resources,
// cancellation and errors. To be used in this order: TakeArgument for each input, Run once, Result
// for each variable.
//
// An error ends the run and names the node that failed, as the executor's errors do. The destructor
// releases the contents of all registers. Every method except the queries may throw std::bad_alloc,
// as kernels may. After an exception or an error only the queries and the destructor may be called.
// The executable is then unchanged, but buffers to which only the op's inputs referred are lost.
class Interpreter {
 public:
  // `executable` and `ctx` must outlive the interpreter. `threads` is the number of threads that
  // the executor would have.
  Interpreter(const Executable& executable, tensorflow::OpKernelContext* ctx, int threads);

  // Puts input `index` of the op into its register. Moves the tensor out of the context if no other
  // tensor shares its buffer, so that the first iteration may already work in place.
  void TakeArgument(int index);

  // Runs iterations until the condition is false or the loop is handed back. The variables then
  // have the values of the end of an iteration, from which the stock loop can go on.
  absl::Status Run();

  // The value of the variable that came in as input `index`. Requires: Run returned OK.
  tensorflow::Tensor Result(int index);

  int64_t iterations() const { return iterations_; }  // of the outermost loop
  bool handed_back() const { return handed_back_; }
  bool executor_wins() const { return executor_wins_; }  // handed back by the estimate
  bool decided() const { return pace_.decided(); }       // measured long enough to decide

 private:
  using Code = std::vector<Instruction>;

  // Runs a frame until its condition is false or, for the outermost one, the loop is handed back.
  absl::Status RunLoop(const LoopCode& code, bool outermost);
  absl::Status RunAll(const Code& code);
  // The same, and adds the time of instruction i in nanoseconds to ns[i].
  absl::Status RunAllTimed(const Code& code, double* ns);
  absl::Status RunOne(const Instruction& instruction);
  absl::Status RunKernel(const Instruction& instruction);
  absl::Status Branch(const Instruction& instruction);
  void Merge(const Instruction& instruction);
  absl::Status RunInnerLoop(const Instruction& instruction);

  // Returns false, and has changed nothing, if the kernel must run instead.
  bool RunSmall(const Instruction& instruction, const NodeKernel& node);
  absl::Status CheckCancelled(const LoopCode& code);
  absl::Status Predicate(const LoopCode& code, bool* taken);
  // Adds the name of node `node` (an index into Program::nodes) to `error`.
  absl::Status AtNode(const absl::Status& error, int node) const;
  bool Holds(const Flags& guards) const;
  bool ShouldHandBack();
  void ReleaseAfter(const Instruction& instruction);

  const Executable& executable_;
  tensorflow::OpKernelContext* const ctx_;
  tensorflow::OpKernelContext::Params params_;
  std::vector<Value> registers_;
  std::vector<char> flags_;                      // by number, 1 where the condition holds
  std::vector<tensorflow::TensorValue> inputs_;  // of the kernel that runs now
  std::vector<tensorflow::AllocatorAttributes> attributes_;  // default ones, enough for any node
  Pace pace_;
  int64_t iterations_ = 0;
  int64_t nodes_ = 0;  // how many the executor would have run until now
  bool handed_back_ = false, executor_wins_ = false;
};

// Test-only: from now on every loop is handed back after `iterations` iterations; -1 turns this
// off.
void SetHandBackAfter(int64_t iterations);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_INTERPRETER_H_
