#ifndef CC_LOOP_HAND_BACK_H_
#define CC_LOOP_HAND_BACK_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "cc/loop/program.h"

namespace tensor_array_grad {

// When TensorFlow's executor would run a loop faster than one kernel does.
//
// One kernel runs a loop's nodes one after the other; the executor runs those that are independent
// at the same time, and up to `parallel_iterations` iterations as well, but takes kNodeNs for each
// node. With P threads, an iteration of N nodes whose kernels take W in all, and the longest chain
// of dependent kernels C per iteration, the executor's iteration takes about
//
//     W / P + C * (1 - 1 / P) + N * kNodeNs.
//
// The first two terms are Graham's bound for scheduling tasks that depend on each other: while the
// chain waits for nothing the other threads may have nothing to do. More threads do not divide the
// last term: what they save of it they spend on waking each other and on waiting for the frame's
// lock.
//
// So only heavy kernels that do not depend on each other are worth handing back. All here is pure
// arithmetic; the interpreter measures.
//
// Where two threads share a core, none of this is seen: there an LSTM of 256 units takes the
// executor 0.97 of its time here, not 0.85. A loop that is handed back is then no slower than
// without this library.

// What the executor takes for a node, in nanoseconds, beside its kernel and its place in the chain.
inline constexpr double kNodeNs = 250;

// The executor must be faster by this much, since the estimate is rough. Measured on two threads,
// times of the executor and here, and the estimate by that here: 64 x 64 determinants 0.88 (0.92),
// LSTM of 128 units with a gradient at batch 8 1.14 (0.94) and at batch 32 0.94 (0.76), GRU of 64
// units 1.26 (1.5).
inline constexpr double kWin = 0.93;

// One instruction of an iteration.
struct Task {
  double ns = 0;
  std::vector<int> reads;           // tasks of the same iteration that must be done before
  std::vector<int> reads_previous;  // tasks of the iteration before
};

// One iteration of a loop.
struct IterationCost {
  std::vector<Task> tasks;
  double nodes = 0;  // that the executor would run
  int threads = 1;
  int parallel_iterations = 10;
};

// The tasks of a loop's iterations, with no times yet: those of the condition, then the body's.
std::vector<Task> TasksOf(const LoopCode& code);

// Whether a loop whose iteration takes `ns` here might be faster in the executor, if nothing in it
// depended on anything. Cheap; what it denies need not be looked at closely.
bool MightWin(double ns, double nodes, int threads);

// The executor's time for an iteration in the steady state, in nanoseconds.
double ExecutorNs(const IterationCost& cost);

// Whether the loop should be handed back.
bool ExecutorWins(const IterationCost& cost);

// When the interpreter looks at the clock, and what it finds.
//
// After 8 iterations, which may be slower than the rest, 16 are timed as a whole. If they might be
// faster in the executor, each instruction of another 16 is timed. Either is done again after 1,000
// iterations, as a loop may grow heavier.
class Pace {
 public:
  explicit Pace(int threads) : threads_(threads), next_(threads > 1 ? kFirst : kNever) {}

  // To be called before each iteration. True if the loop is to be handed back.
  bool Look(int64_t iteration, double nodes_so_far, const LoopCode& code, int parallel_iterations) {
    return iteration == next_ && LookNow(iteration, nodes_so_far, code, parallel_iterations);
  }

  // Whether a decision was made.
  bool decided() const { return decided_; }

  // Where the time of each instruction is to be added now, or null.
  double* task_ns() { return stage_ == kTasks ? task_ns_.data() : nullptr; }

 private:
  enum Stage { kIdle, kWhole, kTasks };
  static constexpr int64_t kNever = -1, kFirst = 8, kTimed = 16, kPause = 1000;

  bool LookNow(int64_t iteration, double nodes_so_far, const LoopCode& code,
               int parallel_iterations);

  const int threads_;
  int64_t next_;
  Stage stage_ = kIdle;
  bool decided_ = false;
  int64_t start_ns_ = 0;
  double nodes_before_ = 0;
  std::vector<double> task_ns_;
};

// What a loop remembers of its runs: how many are to be left to the executor after one was handed
// back. These are 1, then 2, 4 ... 64, as long as each measured run ends in the same way, so a
// wrong decision, where something else disturbed the measurement, costs one run. Thread-safe.
class HandBackMemory {
 public:
  // Whether the run that begins is to be left to the executor.
  bool LeaveRun() {
    int left = to_leave_;
    return left > 0 && to_leave_.compare_exchange_strong(left, left - 1);
  }

  // Notes how a run ended in which the decision was made.
  void Record(bool executor_won) {
    const int verdict = executor_won ? std::min(verdicts_ + 1, kMostVerdicts) : 0;
    verdicts_ = verdict;
    if (executor_won) to_leave_ = 1 << (verdict - 1);
  }

 private:
  static constexpr int kMostVerdicts = 7;  // 64 runs
  std::atomic<int> to_leave_{0};
  std::atomic<int> verdicts_{0};  // in a row
};

}  // namespace tensor_array_grad

#endif  // CC_LOOP_HAND_BACK_H_
