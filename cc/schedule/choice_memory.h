#ifndef CC_SCHEDULE_CHOICE_MEMORY_H_
#define CC_SCHEDULE_CHOICE_MEMORY_H_

#include <algorithm>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "cc/base/mutex.h"
#include "cc/schedule/loop_cost.h"

namespace tensor_array_grad {

// How a run begins.
struct RunStart {
  std::optional<Choice> choice;  // known from earlier runs; none: the run is measured
  bool from_first = false;       // and that from its first iteration on
  bool confirms = false;         // or to confirm a choice that was clear; not with from_first
  double typical_ns = 0;         // then: the time of an iteration if the first may confirm it
};

// Remembers what was chosen for a loop, so that not every run of it has to be measured. The choice
// of a measured run holds for the next run, then for the next 2, 4 ... 64, as long as each measured
// run ends with the same choice. If the gain was clear, it holds for the next run, then for the
// next 32, then for 1,024, because a run that is measured may take several times as long. A wrong
// choice, made because something else disturbed the measurement, thus affects the rest of one run
// and one more run. If kernels become lighter or heavier, for example with another batch size, a
// choice may be wrong for as long as it holds.
//
// Runs that begin while another is measured follow the last choice. If the first runs are measured
// at the same time, because several threads call the function, they count once, or, if the gain was
// clear in two of them, twice. So do later measurements of a long run. Thread-safe.
class ChoiceMemory {
 public:
  // How the next run starts: with a choice, or to be measured.
  RunStart Next() {
    MutexLock lock(&mu_);
    int& left = runs_left_ > 0 ? runs_left_ : beside_left_;
    if (choice_ && left > 0) {
      --left;
      return {choice_, false};
    }
    beside_left_ = kMostBeside;
    const bool confirms = is_clear_ && !from_first_;
    return {std::nullopt, from_first_, confirms, confirms ? executor_ns_ : 0};
  }

  // Records what was chosen in a run that was measured, whether the gain was clear, and the time of
  // an iteration, as Pace::iteration_ns().
  void Record(Choice choice, bool is_clear, double iteration_ns) {
    MutexLock lock(&mu_);
    const bool again = choice == choice_;
    beside_left_ = 0;
    if (again && runs_left_ > 0 && !(is_clear && is_clear_ && held_ == 1)) return;
    held_ = !again ? 1 : is_clear ? std::min(32 * held_, 1024) : std::min(2 * held_, 64);
    choice_ = choice;
    is_clear_ = is_clear;
    executor_ns_ = choice == Choice::kExecutor ? iteration_ns : 0;
    runs_left_ = held_;
  }

  // Records that a run which was to be measured ended before that, and whether its iterations were
  // heavy. The next run is to be measured.
  void RecordNone(bool is_heavy) {
    MutexLock lock(&mu_);
    beside_left_ = 0;
    from_first_ = is_heavy;
    executor_ns_ = 0;
  }

 private:
  // How many runs do not wait for the choice of a measured one, which may have failed.
  static constexpr int kMostBeside = 16;

  Mutex mu_;
  std::optional<Choice> choice_ ABSL_GUARDED_BY(mu_);
  bool from_first_ ABSL_GUARDED_BY(mu_) = false;
  bool is_clear_ ABSL_GUARDED_BY(mu_) = false;   // of the choice
  double executor_ns_ ABSL_GUARDED_BY(mu_) = 0;  // RunStart::typical_ns
  int held_ ABSL_GUARDED_BY(mu_) = 0;            // for how many runs it holds after a measured one
  int runs_left_ ABSL_GUARDED_BY(mu_) = 0;       // of these
  int beside_left_ ABSL_GUARDED_BY(mu_) = 0;     // of kMostBeside
};

}  // namespace tensor_array_grad

#endif  // CC_SCHEDULE_CHOICE_MEMORY_H_
