#ifndef CC_RUN_TRAILING_THREAD_H_
#define CC_RUN_TRAILING_THREAD_H_

#include <memory>

#include "absl/status/status.h"
#include "cc/device/kernel_names.h"
#include "cc/run/executable.h"
#include "cc/run/register_machine.h"

namespace tensor_array_grad {

// Runs the trailing part of a loop (trailing_code.h) beside its main part, some iterations behind.
//
// The main thread hands over the values that the trailing part of an iteration reads. They wait in
// a queue until a thread of the executor's pool has run the iterations before. Only one thread at a
// time runs trailing code, in the order of the iterations. This code has registers of its own.
//
// If no thread runs it, one is asked for at once, or, if the last iteration was light, when several
// wait (loop_cost.h): it costs as much to wake a thread as to run some small kernels.
//
// No thread of the pool is needed for progress: if the queue is full, or at the end, and no thread
// of the pool has begun to work on it, the main thread runs the trailing code itself. A thread of
// the pool stops when the queue is empty, so it never waits. The main thread waits only for a
// thread that runs trailing code.
//
// The methods are to be called by one thread, the main thread, in the order Begin, Add ..., Wait,
// End. They return the first error of the trailing code, and throw what it has thrown. After an
// error or an exception only the destructor may be called.
class TrailingThread {
 public:
  // `executable`, which has trailing code, and `ctx`, the context of the op RunLoop, must outlive
  // this object. When the main part begins an iteration, at most `most_behind` iterations of the
  // trailing part have not ended. Requires: most_behind >= 1.
  TrailingThread(const Executable& executable, OpKernelContext* ctx, int most_behind);
  // Drops the iterations that no thread has begun, and waits for a thread that runs one.
  ~TrailingThread();
  TrailingThread(const TrailingThread&) = delete;
  TrailingThread& operator=(const TrailingThread&) = delete;

  // Takes the trailing variables out of the registers of `main`, and copies the constants.
  void Begin(RegisterMachine* main);
  // Takes or copies the values that the trailing part of iteration `number` reads. To be called
  // between the main part of the body and the moves of the main variables.
  absl::Status Add(int64_t number, RegisterMachine* main);
  // Returns after all trailing code has run.
  absl::Status Wait();
  // The same, and puts the trailing variables into the registers of `main`.
  absl::Status End(RegisterMachine* main);

 private:
  class Queue;
  // Shared with the closures that wait in the pool, which may run after this object is destroyed.
  const std::shared_ptr<Queue> queue_;
};

}  // namespace tensor_array_grad

#endif  // CC_RUN_TRAILING_THREAD_H_
