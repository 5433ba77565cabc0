#include "cc/schedule/pace.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace tensor_array_grad {

// Ends the current stage and begins the next one. The first stage ends before iteration 0 if the
// run is to be measured from there on, or to confirm kExecutor.
Choice Pace::LookNow(int64_t iteration, double nodes_so_far) {
  EndStage(iteration, nodes_so_far);
  if (iteration == 1 && typical_ns_ > 0) {
    if (IsConfirmed()) return Decide(Choice::kExecutor, iteration);
    stage_ = kIdle;  // as if iteration 0 had not been timed
  }
  const bool is_heavy = ns_ >= kHeavyNs;
  const bool may_be_faster =
      MayBeFaster(ns_, nodes_ / static_cast<double>(iterations_), threads_, trailing_ != nullptr);
  switch (stage_) {
    case kIdle:
      if (choice_ == Choice::kTwoThreads) {
        Begin(kIdle, iteration, 1);  // the next iteration waits for the second thread
      } else if (iteration == 0 || (is_heavy && may_be_faster)) {
        BeginTasks(iteration, timed_if_heavy_);
      } else {
        Begin(kWhole, iteration, 1);
      }
      break;
    case kWhole:
      if (is_heavy && may_be_faster) {
        BeginTasks(iteration, timed_if_heavy_);
      } else if (2 * iterations_ < kTimed) {
        Begin(kWhole, iteration, 2 * iterations_);
      } else if (may_be_faster) {
        BeginTasks(iteration, kTimed);
      } else {
        gain_ = 1;
        return Decide(Choice::kOneThread, iteration);
      }
      break;
    case kTasks:
      if (timed_ >= kTimed || static_cast<double>(start_ns_ - tasks_start_ns_) >= kTrustedNs) {
        AddUpTasks();
        return Decide(ChooseByTasks(), iteration);
      }
      if (is_heavy) {
        Begin(kTasks, iteration, timed_);
      } else {
        Begin(kWhole, iteration, 1);  // only the iteration before was slow
      }
  }
  return Choice::kOneThread;
}

void Pace::EndStage(int64_t iteration, double nodes_so_far) {
  const int64_t now = clocks_.wall();
  iterations_ = std::max<int64_t>(iteration - (next_ - iterations_), 1);
  ns_ = static_cast<double>(now - start_ns_) / static_cast<double>(iterations_);
  nodes_ = nodes_so_far - nodes_before_;
  start_ns_ = now;
  nodes_before_ = nodes_so_far;
  if (stage_ == kTasks) {
    timed_ += iterations_;
    timed_nodes_ += nodes_;
  }
}

void Pace::End(int64_t iteration, double nodes_so_far) {
  if (stage_ == kTasks && !measured_choice_) {
    const int64_t start = next_ - iterations_;  // of the stage
    if (iteration > start) EndStage(iteration, nodes_so_far);
    was_too_short_ = timed_ == 0 && iteration > 0;
    if (timed_ == 0) return;
    AddUpTasks();
  } else if (cost_.tasks.empty() || iteration >= kMostSimulated) {
    return;
  }
  cost_.iterations = static_cast<int>(std::clamp<int64_t>(iteration, 1, kMostSimulated));
  measured_choice_ = ChooseByTasks();
}

void Pace::Begin(Stage stage, int64_t iteration, int64_t iterations) {
  stage_ = stage;
  iterations_ = iterations;
  next_ = iteration + iterations;
}

void Pace::BeginTasks(int64_t iteration, int64_t iterations) {
  task_ns_.assign(code_.condition.size() + code_.body.size(), 0);
  timed_ = 0;
  timed_nodes_ = 0;
  processor_start_ns_ = clocks_.processor();
  tasks_start_ns_ = start_ns_;
  Begin(kTasks, iteration, iterations);
}

// Whether iteration 0 confirms kExecutor, both as the only one of a run and as one of many. If not,
// nothing of what was found remains.
bool Pace::IsConfirmed() {
  AddUpTasks();
  const double ns = std::exchange(iteration_ns_, 0);  // so that the next such run looks further
  bool is_confirmed = ns >= kTrustedNs && ns <= kAlike * typical_ns_ && typical_ns_ <= kAlike * ns;
  for (const int iterations : {1, kMostSimulated}) {
    cost_.iterations = iterations;
    is_confirmed = is_confirmed && ChooseByTasks() == Choice::kExecutor && is_clear();
  }
  if (!is_confirmed) cost_ = {};
  return is_confirmed;
}

Choice Pace::Decide(Choice choice, int64_t iteration) {
  measured_choice_ = choice;
  Begin(kIdle, iteration, kPause);
  return choice;
}

void Pace::AddUpTasks() {
  const auto timed = static_cast<double>(timed_);
  cost_ = {};
  iteration_ns_ = TimedNs() / timed;
  cost_.busy_ns = static_cast<double>(clocks_.processor() - processor_start_ns_) / timed;
  cost_.tasks = TasksOf(code_);
  for (size_t i = 0; i < cost_.tasks.size(); ++i) cost_.tasks[i].ns = task_ns_[i] / timed;
  if (trailing_ != nullptr) {
    cost_.is_trailing.assign(code_.condition.size(), false);
    cost_.is_trailing.insert(cost_.is_trailing.end(), trailing_->is_trailing.begin(),
                             trailing_->is_trailing.end());
    cost_.keeps_half = trailing_->keeps_half;
  }
  cost_.nodes = timed_nodes_ / timed;
  cost_.threads = threads_;
  cost_.parallel_iterations = parallel_iterations_;
  cost_.stays = stays_;
}

Choice Pace::ChooseByTasks() {
  const Estimate fastest = Fastest(cost_);
  gain_ = fastest.gain;
  return fastest.choice;
}

double Pace::TimedNs() const { return absl::c_accumulate(task_ns_, 0.0); }

std::pair<double, int> Pace::Heaviest() const {
  const auto heaviest = std::max_element(task_ns_.begin(), task_ns_.end());
  const size_t index = heaviest - task_ns_.begin();
  const size_t in_condition = code_.condition.size();
  const Instruction& instruction =
      index < in_condition ? code_.condition[index] : code_.body[index - in_condition];
  return {*heaviest / TimedNs(), instruction.node};
}

}  // namespace tensor_array_grad
