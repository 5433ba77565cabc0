#ifndef CC_RUN_LOCK_WAIT_H_
#define CC_RUN_LOCK_WAIT_H_

#include <atomic>
#include <functional>
#include <memory>

#include "cc/compile/program.h"
#include "cc/device/kernel_names.h"

namespace tensor_array_grad {

// One call of the kernel of MutexLock, which ends when the loop has the lock.
//
// The problem: another step may have the lock, and may need the thread that runs the loop to give
// it up. So the loop must not keep its thread while it waits. The solution:
//
//     RunLoop's thread      Start; the kernel has not ended: CallAfterEnd(go on), return
//     the lock's thread     the kernel ends -> go on: RunLoop asks the pool for a thread
//     a thread of the pool  TakeOutputs of the instruction, the next instruction ...
//
// The methods are to be called in the order Start, CallAfterEnd and, after the end, `ctx`.
// CallAfterEnd is safe beside the end of the kernel.
class LockWait {
 public:
  // `params` are those of the call. They, and the kernel, must outlive this object.
  LockWait(const Instruction& instruction, OpKernelContext::Params* params)
      : instruction_(instruction), ctx_(params, static_cast<int>(instruction.outputs.size())) {}

  // Calls the kernel. A C++ exception in it ends the process, as in TensorFlow's executor, because
  // the kernel might still use the context.
  void Start(tensorflow::AsyncOpKernel* kernel) noexcept;

  // Calls `go_on` once, when the kernel has ended: at once, or on the thread that ends it.
  void CallAfterEnd(std::function<void()> go_on);

  const Instruction& instruction() const { return instruction_; }
  OpKernelContext& ctx() { return ctx_; }

 private:
  // The end of the kernel and CallAfterEnd both set `is_set`. The second of them calls `go_on`.
  struct End {
    std::atomic<bool> is_set{false};
    std::function<void()> go_on;
  };

  const Instruction& instruction_;
  OpKernelContext ctx_;
  // The kernel's callback may still use it when the loop goes on.
  const std::shared_ptr<End> end_ = std::make_shared<End>();
};

}  // namespace tensor_array_grad

#endif  // CC_RUN_LOCK_WAIT_H_
