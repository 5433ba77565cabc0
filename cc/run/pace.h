#ifndef CC_RUN_PACE_H_
#define CC_RUN_PACE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cc/base/mutex.h"
#include "cc/base/steady_clock.h"
#include "cc/compile/program.h"
#include "cc/run/loop_cost.h"
#include "cc/run/trailing_code.h"

namespace tensor_array_grad {

// Measures a run and chooses what runs its next iterations. Not thread-safe: each run has its own
// Pace.
//
// The first iteration may be slower than the rest and is not timed. The second is. If it takes less
// than kHeavyNs, the next 16 are timed as a whole. If MayBeFaster is true for what was timed, each
// instruction of 16 more iterations is timed (of 2 after a heavy one), and Fastest decides.
// Otherwise the loop stays on one thread. The measurement is repeated after 1,000 iterations,
// because a loop may grow heavier. Nothing is measured if there is no choice.
//
// A run that begins with two threads, because earlier runs were measured, is measured for the first
// time after 1,000 iterations.
class Pace {
 public:
  using Clock = int64_t (*)();  // nanoseconds

  // `first` is kOneThread or kTwoThreads. `code` is that of the outermost loop, and `trailing` is
  // null if the loop has no trailing part; both must outlive it. With `stays`, kExecutor is never
  // chosen.
  Pace(int threads, Choice first, const LoopCode& code, const TrailingCode* trailing,
       int parallel_iterations, bool stays = false, Clock clock = SteadyNanos)
      : threads_(stays && trailing == nullptr ? 1 : threads),
        code_(code),
        trailing_(trailing),
        parallel_iterations_(parallel_iterations),
        stays_(stays),
        clock_(clock),
        next_(threads_ < 2                  ? kNever
              : first == Choice::kOneThread ? kFirst
                                            : kPause),
        choice_(threads_ < 2 ? Choice::kOneThread : first) {}

  // Must be called before each iteration of the outermost loop. Returns what is to run that
  // iteration: kOneThread while a measurement lasts. `nodes_so_far` is the number of nodes that the
  // executor would have run until now.
  Choice Look(int64_t iteration, double nodes_so_far) {
    if (iteration == next_) choice_ = LookNow(iteration, nodes_so_far);
    return choice_;
  }

  // The last choice that followed a measurement; none if the run was too short for one.
  std::optional<Choice> measured_choice() const { return measured_choice_; }

  // By how much the executor was estimated to be faster, when the choice was last kExecutor.
  double gain() const { return gain_; }

  // The share of an iteration that its heaviest instruction takes, and the node of that, an index
  // into Program::nodes. Requires: the choice was kExecutor.
  std::pair<double, int> Heaviest() const;

  // The array to which the interpreter adds the time of each instruction, those of the condition
  // first. Null while instructions are not timed.
  double* task_ns() { return stage_ == kTasks ? task_ns_.data() : nullptr; }

 private:
  // What is timed: nothing, one iteration, several, each instruction of several.
  enum Stage { kIdle, kProbe, kWhole, kTasks };
  static constexpr int64_t kNever = -1, kFirst = 1, kPause = 1000;
  static constexpr int64_t kTimed = 16, kTimedIfHeavy = 2;  // iterations
  static constexpr double kHeavyNs = 200'000;               // of an iteration

  Choice LookNow(int64_t iteration, double nodes_so_far);
  bool IsTooLight(double ns) const;
  void Begin(Stage stage, int64_t iteration, int64_t iterations);
  Choice ChooseByTasks(double nodes);

  const int threads_;
  const LoopCode& code_;
  const TrailingCode* const trailing_;
  const int parallel_iterations_;
  const bool stays_;
  const Clock clock_;
  int64_t next_;  // the iteration at which the stage ends
  Choice choice_;
  Stage stage_ = kIdle;
  std::optional<Choice> measured_choice_;
  double gain_ = 1;
  int64_t iterations_ = 1;  // of the stage
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

#endif  // CC_RUN_PACE_H_
