#ifndef CC_SCHEDULE_PACE_H_
#define CC_SCHEDULE_PACE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cc/base/steady_clock.h"
#include "cc/compile/program.h"
#include "cc/schedule/choice_memory.h"
#include "cc/schedule/loop_cost.h"
#include "cc/schedule/trailing_code.h"

namespace tensor_array_grad {

// Measures a run and chooses what runs its next iterations. Not thread-safe: each run has its own
// Pace.
//
// The first iteration may be slower than the rest. It only shows whether iterations are heavy, so
// that they take kHeavyNs or more. While they are light, the next 1, 2, 4 and 8 are timed as a
// whole. If MayBeFaster is true for what was timed, the instructions of the next iterations are
// timed: of 16, or of as many heavy ones as take kTrustedNs, at least two, or at least one if that
// confirms an earlier choice. Then Fastest decides.
// Otherwise the loop stays on one thread. The measurement is repeated after 1,000 iterations,
// because a loop may grow heavier. Nothing is measured if there is no choice.
//
//     iteration   0      1    2 3    4 5 6 7    8 ... 15    16 ... 31
//     light       idle   |------------- whole ----------|   tasks, or no more
//     heavy       idle   tasks . ...
//
// A run that ends while instructions are timed is decided by those, for the next runs. If it has
// ended before, although its iterations are heavy, the next run is timed from iteration 0 on. The
// decision for the next runs supposes that they have as many iterations, which makes a difference
// if there are few.
//
// If a run is to confirm kExecutor, the instructions of iteration 0 are timed, too, and may confirm
// it alone: if they take kTrustedNs or more, as much as those timed before, and lead to that choice
// with a clear gain, even if the run had no other iteration. (If they took longer, because data
// were not in the caches, the executor's overhead would weigh less than in the next iterations.)
// Otherwise iteration 0 shows no more than in other runs. After a run that was confirmed so, it
// shows no more, either, in the next one that confirms, because later iterations may change where
// the first does not.
//
// A run that begins with a choice, because earlier runs were measured, is measured for the first
// time after 1,000 iterations.
class Pace {
 public:
  struct Clocks {
    int64_t (*wall)() = SteadyNanos;
    int64_t (*processor)() = ProcessorNanos;  // of all threads of the process
  };

  // `start` is how the run begins; not with kExecutor. `code` is that of the outermost loop, and
  // `trailing` is null if the loop has no trailing part; both must outlive it. With `stays`,
  // kExecutor is never chosen.
  Pace(int threads, RunStart start, const LoopCode& code, const TrailingCode* trailing,
       int parallel_iterations, bool stays, Clocks clocks)
      : threads_(stays && trailing == nullptr ? 1 : threads),
        code_(code),
        trailing_(trailing),
        parallel_iterations_(parallel_iterations),
        stays_(stays),
        timed_if_heavy_(start.confirms ? 1 : 2),
        typical_ns_(start.typical_ns),
        clocks_(clocks),
        next_(threads_ < 2                          ? kNever
              : start.choice                        ? kPause
              : start.from_first || typical_ns_ > 0 ? 0
                                                    : kFirst),
        choice_(threads_ < 2 ? Choice::kOneThread : start.choice.value_or(Choice::kOneThread)),
        iterations_(next_),
        start_ns_(threads_ < 2 ? 0 : clocks.wall()) {}

  // Must be called before each iteration of the outermost loop. Returns what is to run that
  // iteration: kOneThread while a measurement lasts. `nodes_so_far` is the number of nodes that the
  // executor would have run until now.
  Choice Look(int64_t iteration, double nodes_so_far) {
    if (iteration == next_) choice_ = LookNow(iteration, nodes_so_far);
    return choice_;
  }

  // Must be called when the run has ended after `iteration` iterations.
  void End(int64_t iteration, double nodes_so_far);

  // Whether the run ended before its instructions were timed, although it was time for that.
  bool was_too_short() const { return was_too_short_; }

  // The last choice that followed a measurement; none if the run was too short for one.
  std::optional<Choice> measured_choice() const { return measured_choice_; }

  // By how much the choice was last estimated to be faster than one thread; 1 for that.
  double gain() const { return gain_; }

  // Whether that estimate leaves no doubt.
  bool is_clear() const { return gain_ >= kClearGain; }

  // The time of the instructions of an iteration on one thread, by which the choice was made; 0 if
  // there was none, or if iteration 0 alone confirmed it.
  double iteration_ns() const { return iteration_ns_; }

  // The share of an iteration that its heaviest instruction takes, and the node of that, an index
  // into Program::nodes. Requires: the choice was kExecutor.
  std::pair<double, int> Heaviest() const;

  // The array to which the interpreter adds the time of each instruction, those of the condition
  // first. Null while instructions are not timed.
  double* task_ns() { return stage_ == kTasks ? task_ns_.data() : nullptr; }

 private:
  // What is timed: nothing, several iterations as a whole, each of their instructions. The time
  // since the end of the last stage is known in each.
  enum Stage { kIdle, kWhole, kTasks };
  static constexpr int64_t kNever = -1, kFirst = 1, kPause = 1000;
  static constexpr int64_t kTimed = 16;          // iterations
  static constexpr double kHeavyNs = 40'000;     // of an iteration
  static constexpr double kTrustedNs = 400'000;  // of all that are timed
  static constexpr double kAlike = 1.25;  // the factor by which times that are alike may differ

  Choice LookNow(int64_t iteration, double nodes_so_far);
  void EndStage(int64_t iteration, double nodes_so_far);
  void Begin(Stage stage, int64_t iteration, int64_t iterations);
  void BeginTasks(int64_t iteration, int64_t iterations);
  bool IsConfirmed();
  Choice Decide(Choice choice, int64_t iteration);
  void AddUpTasks();
  Choice ChooseByTasks();
  double TimedNs() const;

  const int threads_;
  const LoopCode& code_;
  const TrailingCode* const trailing_;
  const int parallel_iterations_;
  const bool stays_;
  const int64_t timed_if_heavy_;  // iterations
  const double typical_ns_;       // 0: iteration 0 cannot confirm anything
  const Clocks clocks_;
  int64_t next_;  // the iteration at which the stage ends
  Choice choice_;
  Stage stage_ = kIdle;
  std::optional<Choice> measured_choice_;
  bool was_too_short_ = false;
  double gain_ = 1, iteration_ns_ = 0;
  // Of the stage: its iterations, their nodes, the time of one of them, and when it began.
  int64_t iterations_;
  double nodes_ = 0, nodes_before_ = 0, ns_ = 0;
  int64_t start_ns_;
  // Of the stages kTasks that have followed each other: the time of each instruction, the number of
  // iterations and of their nodes, and the processor time and the time when they began.
  std::vector<double> task_ns_;
  int64_t timed_ = 0;
  double timed_nodes_ = 0;
  int64_t processor_start_ns_ = 0, tasks_start_ns_ = 0;
  IterationCost cost_;  // of those that were added up last; no tasks: none
};

}  // namespace tensor_array_grad

#endif  // CC_SCHEDULE_PACE_H_
