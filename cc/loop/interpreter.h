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

// One run of a loop: executes iterations on the calling thread, one after the other, each node as
// TensorFlow's executor would, with the same kernels, resources, cancellation and errors.
//
// An error ends the run; it names the node that failed, as the executor's errors do. All that the
// registers hold is released with the object. Every method but the small queries throws
// std::bad_alloc, as kernels may; the object is then of no use but to be destroyed, and the
// executable is as it was. What the op's inputs alone held is gone, as after an error.
class Interpreter {
 public:
  // Both must outlive the interpreter. `threads`: how many the executor would have.
  Interpreter(const Executable& executable, tensorflow::OpKernelContext* ctx, int threads);

  // Puts input `index` of the op where the program expects it. Moves the tensor out of the context
  // if nothing else holds it, so that the first iteration may already work in place.
  void TakeArgument(int index);

  // Runs iterations until the condition is false or the loop is handed back: the values are then
  // those at the end of an iteration, from which another executor can go on.
  absl::Status Run();

  // The value of the variable that came in as input `index`.
  tensorflow::Tensor Result(int index);

  int64_t iterations() const { return iterations_; }
  bool handed_back() const { return handed_back_; }
  bool executor_wins() const { return executor_wins_; }  // why it was, unless a test wanted it
  bool decided() const { return pace_.decided(); }  // whether it ran long enough to be measured

 private:
  using Code = std::vector<Instruction>;

  absl::Status RunLoop(const LoopCode& code, bool outermost);
  absl::Status RunAll(const Code& code);
  absl::Status RunAllTimed(const Code& code, double* ns);
  absl::Status RunOne(const Instruction& instruction);
  absl::Status RunKernel(const Instruction& instruction);
  absl::Status Branch(const Instruction& instruction);
  void Merge(const Instruction& instruction);
  absl::Status RunInnerLoop(const Instruction& instruction);

  bool RunSmall(const Instruction& instruction, const NodeKernel& node);
  absl::Status CheckCancelled(const LoopCode& code);
  absl::Status Predicate(const LoopCode& code, bool* taken);
  absl::Status AtNode(const absl::Status& error, int node) const;
  bool Holds(const Flags& guards) const;
  bool ShouldHandBack();
  void ReleaseAfter(const Instruction& instruction);

  const Executable& executable_;
  tensorflow::OpKernelContext* const ctx_;
  tensorflow::OpKernelContext::Params params_;
  std::vector<Value> registers_;
  std::vector<char> flags_;  // by condition
  std::vector<tensorflow::TensorValue> inputs_;
  std::vector<tensorflow::AllocatorAttributes> attributes_;  // all the default, for any node
  Pace pace_;
  int64_t iterations_ = 0;
  int64_t nodes_ = 0;  // that the executor would have run so far
  bool handed_back_ = false, executor_wins_ = false;
};

// Test-only: every loop that runs afterwards is handed back after `iterations`; -1 for none.
void SetHandBackAfter(int64_t iterations);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_INTERPRETER_H_
