#ifndef CC_RUN_FUNCTION_CALL_H_
#define CC_RUN_FUNCTION_CALL_H_

#include <atomic>

#include "cc/device/kernel_names.h"
#include "cc/run/called_functions.h"

namespace tensor_array_grad {

// Calls the kernel of an op that runs functions (PartitionedCall, If ...), and waits for it.
//
// The problem: such a kernel is asynchronous. It gives the nodes of the function to the executor's
// pool, and a thread that waits for them is lost to the pool. If the pool has no other thread, the
// nodes never run.
//
// The solution: the kernel gets another pool. What is given to it waits in a queue, and the waiting
// thread itself runs it, so that progress needs no other thread:
//
//     kernel ──> queue ──> the waiting thread
//                   └────> a thread of the executor's pool, if the function takes long
//
// To wake another thread costs more than to run a few small nodes. A call therefore asks the
// executor's pool for help only if the previous call took longer than kLongNs, or if the function
// has a loop: then for each piece of work, as the executor would. A loop may run until another node
// of the function fails, which must not wait for the end of the loop.
//
// A thread that helps is occupied as long as its work, beside the one that waits. So the function
// must not wait for what needs a thread of the executor's pool (CheckCalls in eligibility.h).
//
// The kernel of the stock loop runs the same functions: TensorFlow instantiates a function once for
// all calls with the same attributes. State in the kernels of a function is therefore shared, too.
// Only functions without state can have an instance of their own (InstanceOf in inline_call.h).
//
// Thread-safe.
class FunctionCall {
 public:
  static constexpr double kLongNs = 100'000;

  // `has_loop` says whether the function, or one that it calls, has a loop. `function`, which must
  // outlive this object, is null if the nodes of the function cannot take the place of the call.
  FunctionCall(bool has_loop, CalledFunctions::Function* function)
      : has_loop_(has_loop), function_(function) {}

  // Calls `kernel` in `ctx`, which was made with `params`, and returns when the kernel has called
  // its callback. `params->runner` is replaced meanwhile. A C++ exception in the function ends the
  // process, as in TensorFlow's executor.
  void Call(tensorflow::AsyncOpKernel* kernel, tensorflow::OpKernelContext::Params* params,
            OpKernelContext* ctx) noexcept;

  CalledFunctions::Function* function() const { return function_; }

 private:
  const bool has_loop_;
  CalledFunctions::Function* const function_;
  std::atomic<bool> takes_long_{false};
};

}  // namespace tensor_array_grad

#endif  // CC_RUN_FUNCTION_CALL_H_
