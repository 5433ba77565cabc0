#ifndef CC_RUN_HAND_BACK_H_
#define CC_RUN_HAND_BACK_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cc/base/mutex.h"
#include "cc/compile/program.h"
#include "cc/run/trailing_code.h"

namespace tensor_array_grad {

// Decides whether TensorFlow's executor would run a loop faster than one kernel does. If so, the
// loop is handed back: the interpreter stops between two iterations and the stock loop continues.
//
// One kernel runs a loop's nodes one after the other. The executor runs independent nodes at the
// same time, also those of up to `parallel_iterations` iterations, but spends kNodeNs on each node.
// Let there be P threads, and per iteration N nodes, a time W in all kernels and a time C in the
// longest chain of dependent kernels. Then an iteration takes the executor about
//
//     W / P + C * (1 - 1 / P) + N * kNodeNs.
//
// The first two terms are Graham's bound for scheduling tasks that depend on each other: while the
// chain runs, the other threads may have nothing to do. More threads do not reduce the last term,
// because the threads wake each other and wait for the frame's lock.
//
// So handing back pays only for a loop with heavy kernels that do not depend on each other. The
// estimate is arithmetic on measured times; Pace and the interpreter measure them.
//
// A loop with a trailing part (trailing_code.h) has a third choice: a second thread runs that part.
// An iteration then takes about as long as the longer part, plus kHandOverNs.
//
// The estimate ignores that two threads may share a core. With shared cores, the executor needed
// 0.97 of the time of one kernel for an LSTM of 256 units, but the estimate was 0.85. A loop that
// is handed back runs as without this library, except for the iterations before the hand-back.

// The executor's overhead per node in nanoseconds, without the node's kernel and without the node's
// part in the chain C.
inline constexpr double kNodeNs = 250;

// A loop is handed back if the estimate is below this share of the time in one kernel, on one
// thread or on two. The margin is needed because the estimate is rough. Measured with two threads
// of the executor, as shares of the time in one kernel on one thread:
//
//     loop                                    executor    estimate
//     64 x 64 determinants                        0.88        0.92
//     LSTM of 128 units, gradient, batch 8        1.14        0.94
//     LSTM of 128 units, gradient, batch 32       0.94        0.76
//     GRU of 64 units                             1.26        1.5
inline constexpr double kHandBackRatio = 0.93;

// What a second thread that runs the trailing part of a loop (trailing_code.h) costs per iteration:
// to hand over the values and, now and then, to wake the thread.
inline constexpr double kHandOverNs = 3000;

// A second thread is used if the estimate for it is below this share of the time on one thread.
inline constexpr double kTwoThreadsRatio = 0.9;

// What runs the iterations of a loop.
enum class Choice { kOneThread, kTwoThreads, kExecutor };

// One instruction of an iteration.
struct Task {
  double ns = 0;
  std::vector<int> reads;           // tasks of the same iteration that must be done first
  std::vector<int> reads_previous;  // tasks of the previous iteration
};

// The tasks of one iteration and what the executor needs for them.
struct IterationCost {
  std::vector<Task> tasks;
  std::vector<bool> is_trailing;  // by task; empty if the loop has no trailing part
  double nodes = 0;               // number of nodes that the executor would run
  int threads = 1;
  int parallel_iterations = 10;
};

// The tasks of one iteration, all with the time 0: the instructions of the condition, then those of
// the body.
std::vector<Task> TasksOf(const LoopCode& code);

// A cheap test: false if nothing could be faster than one thread even if no task depended on
// another. `ns` is the time of an iteration on one thread. If this is false, Fastest need not be
// called.
bool MayBeFaster(double ns, double nodes, int threads, bool has_trailing_part);

// Estimates the executor's time per iteration in the steady state, in nanoseconds.
double ExecutorNs(const IterationCost& cost);

// Estimates the time per iteration if a second thread runs the trailing tasks, in nanoseconds.
double TwoThreadsNs(const IterationCost& cost);

// The choice with the least estimate. On one thread, an iteration takes the sum of its tasks. Two
// threads are chosen if their estimate is below kTwoThreadsRatio of that time, and the executor if
// its estimate is below kHandBackRatio of the best of the other two.
Choice Fastest(const IterationCost& cost);

// Measures a run and chooses what runs its next iterations. Not thread-safe: each run has its own
// Pace.
//
// The first 8 iterations may be slower than the rest and are not timed. The next 16 are timed as a
// whole. If MayBeFaster is true for them, each instruction of another 16 is timed, and Fastest
// decides. If it is false, the loop stays on one thread. The measurement is repeated after 1,000
// iterations, because a loop may grow heavier. With one thread nothing is measured.
//
// A run that begins with two threads, because earlier runs were measured, is measured for the first
// time after 1,000 iterations.
class Pace {
 public:
  // `first` is kOneThread or kTwoThreads.
  Pace(int threads, Choice first)
      : threads_(threads),
        next_(threads < 2                   ? kNever
              : first == Choice::kOneThread ? kFirst
                                            : kPause),
        choice_(threads < 2 ? Choice::kOneThread : first) {}

  // Must be called before each iteration of the outermost loop. Returns what is to run that
  // iteration: kOneThread while a measurement lasts. `nodes_so_far` is the number of nodes that the
  // executor would have run until now. `trailing` is null if the loop has no trailing part.
  Choice Look(int64_t iteration, double nodes_so_far, const LoopCode& code,
              const TrailingCode* trailing, int parallel_iterations) {
    if (iteration == next_) {
      choice_ = LookNow(iteration, nodes_so_far, code, trailing, parallel_iterations);
    }
    return choice_;
  }

  // The last choice that followed a measurement; none if the run was too short for one.
  std::optional<Choice> measured_choice() const { return measured_choice_; }

  // The array to which the interpreter adds the time of each instruction, those of the condition
  // first. Null while instructions are not timed.
  double* task_ns() { return stage_ == kTasks ? task_ns_.data() : nullptr; }

 private:
  enum Stage { kIdle, kWhole, kTasks };  // what is timed: nothing, iterations, instructions
  static constexpr int64_t kNever = -1, kFirst = 8, kTimed = 16, kPause = 1000;

  Choice LookNow(int64_t iteration, double nodes_so_far, const LoopCode& code,
                 const TrailingCode* trailing, int parallel_iterations);
  Choice ChooseByTasks(double nodes, const LoopCode& code, const TrailingCode* trailing,
                       int parallel_iterations) const;

  const int threads_;
  int64_t next_;  // the iteration at which the stage ends
  Choice choice_;
  Stage stage_ = kIdle;
  std::optional<Choice> measured_choice_;
  int64_t start_ns_ = 0;
  double nodes_before_ = 0;
  std::vector<double> task_ns_;
};

// Remembers what was chosen for a loop, so that not every run of it has to be measured. The choice
// of a measured run, if it is not one thread, holds for the next run, then for the next 2, 4 ...
// 64, as long as each measured run ends with the same choice. A wrong choice, made because
// something else disturbed the measurement, thus affects the rest of one run and one more run. Runs
// that are measured at the same time, and the later measurements of a long run, count once.
// Thread-safe.
class ChoiceMemory {
 public:
  // Returns the choice with which the next run starts. kOneThread means that it is to be measured.
  Choice Next() {
    MutexLock lock(&mu_);
    if (runs_left_ == 0) return Choice::kOneThread;
    --runs_left_;
    return choice_;
  }

  // Records what was chosen in a run that was measured.
  void Record(Choice choice) {
    MutexLock lock(&mu_);
    const bool again = choice == choice_;
    if (again && runs_left_ > 0) return;
    times_ = again ? std::min(times_ + 1, kMostTimes) : 1;
    choice_ = choice;
    runs_left_ = choice == Choice::kOneThread ? 0 : 1 << (times_ - 1);
  }

 private:
  static constexpr int kMostTimes = 7;  // 64 runs
  Mutex mu_;
  Choice choice_ ABSL_GUARDED_BY(mu_) = Choice::kOneThread;
  int times_ ABSL_GUARDED_BY(mu_) = 0;  // how often it was chosen in succession
  int runs_left_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_RUN_HAND_BACK_H_
