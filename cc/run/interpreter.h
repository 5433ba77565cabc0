#ifndef CC_RUN_INTERPRETER_H_
#define CC_RUN_INTERPRETER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/kernel_names.h"
#include "cc/run/executable.h"
#include "cc/run/register_machine.h"
#include "cc/run/trailing_thread.h"
#include "cc/schedule/pace.h"

namespace tensor_array_grad {

// One run of a program. Executes the iterations of the loop one after the other on the calling
// thread (register_machine.h); another thread may run the trailing part of each iteration
// (trailing_thread.h). To be used in this order: TakeArgument or Take for each input, Run,
// Result for each variable, or for each input if another interpreter goes on.
//
// An error ends the run. Every method except the queries may throw std::bad_alloc, as kernels may.
// After an exception or an error only the queries and the destructor may be called. The executable
// is then unchanged, but buffers to which only the op's inputs referred are lost.
class Interpreter {
 public:
  // `executable` and `ctx` must outlive the interpreter. `threads` is the number of threads that
  // the executor would have. `start` is as in Pace.
  Interpreter(const Executable& executable, OpKernelContext* ctx, int threads, RunStart start);

  // Puts input `index` of the op into its register. Moves the tensor out of the context if no other
  // tensor shares its buffer, so that the first iteration may already work in place.
  void TakeArgument(int index);

  // The same with a value that another interpreter of the same op has had.
  void Take(int index, Tensor value);

  // Runs iterations until the condition is false, the loop is handed back, or the executable is
  // outdated. The variables then have the values of the end of an iteration, from which the stock
  // loop or another interpreter can go on.
  //
  // Returns earlier, with OK, if an instruction waits for a lock: is_waiting() is then true. When
  // CallAfterWait has called back, Run must be called again, on any thread.
  absl::Status Run();

  bool is_waiting() const { return machine_.is_waiting(); }

  // See RegisterMachine. The interpreter must not be destroyed before `go_on` is called.
  void CallAfterWait(std::function<void()> go_on) { machine_.CallAfterWait(std::move(go_on)); }

  // Takes out the value of the variable or constant that came in as input `index`. Requires: Run
  // returned OK.
  Tensor Result(int index);

  int64_t iterations() const { return iterations_; }  // of the outermost loop
  bool handed_back() const { return handed_back_; }
  bool is_outdated() const { return is_outdated_; }
  const Pace& pace() const { return pace_; }
  bool had_trailing_thread() const { return had_trailing_thread_; }

 private:
  // Chooses what runs the next iteration. Sets *stops if none is to run.
  absl::Status BeginIteration(bool* stops);
  // Executes one iteration, or the rest of it after a wait. Sets *taken to whether the condition
  // holds.
  absl::Status Iterate(bool* taken);
  absl::Status FirstError(const absl::Status& error);
  // Returns what is to run the next iteration.
  Choice Choose();
  // Begins or ends the use of a second thread.
  absl::Status UseTrailingThread(bool use);

  const Executable& executable_;
  OpKernelContext* const ctx_;
  RegisterMachine machine_;
  Pace pace_;
  std::unique_ptr<TrailingThread> trailing_;  // null: all code runs on the calling thread
  int64_t iterations_ = 0;
  bool handed_back_ = false, is_outdated_ = false, had_trailing_thread_ = false;
};

// The number of threads that the executor has for the kernels of one graph, at most as many as
// processors. `asked` is inter_op_parallelism_threads of the configuration, or 0.
int ExecutorThreads(int asked);

// Test-only: from now on every loop is handed back after `iterations` iterations, unless it has a
// seeded op or calls of functions that can be inlined; -1: when measured times say that the
// executor is faster.
void SetHandBackAfter(int64_t iterations);

// Test-only: from now on a second thread runs the trailing part of every loop that has one, after
// `iterations` iterations on one thread; -1 turns this off.
void SetTrailingThreadAfter(int64_t iterations);

}  // namespace tensor_array_grad

#endif  // CC_RUN_INTERPRETER_H_
