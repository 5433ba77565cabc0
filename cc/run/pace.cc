#include "cc/run/pace.h"

#include "absl/time/clock.h"

namespace tensor_array_grad {

// Ends the current stage and begins the next one. kIdle lasts until the first iteration that is
// timed, kWhole and kTasks last kTimed iterations each. kTasks is skipped if MayBeFaster is false
// for the time of kWhole. The choice is made at the end of kTasks.
Choice Pace::LookNow(int64_t iteration, double nodes_so_far) {
  const int64_t now = absl::GetCurrentTimeNanos();
  const double nodes = (nodes_so_far - nodes_before_) / kTimed;
  const Stage stage = stage_;
  nodes_before_ = nodes_so_far;
  start_ns_ = stage == kIdle ? now : start_ns_;
  if (stage == kIdle) {
    stage_ = kWhole;
    next_ = iteration + kTimed;
    return Choice::kOneThread;
  }
  const double ns = static_cast<double>(now - start_ns_) / kTimed;
  if (stage == kWhole && MayBeFaster(ns, nodes, threads_, trailing_ != nullptr)) {
    task_ns_.assign(code_.condition.size() + code_.body.size(), 0);
    stage_ = kTasks;
    next_ = iteration + kTimed;
    return Choice::kOneThread;
  }
  measured_choice_ = stage == kWhole ? Choice::kOneThread : ChooseByTasks(nodes);
  stage_ = kIdle;
  next_ = iteration + kPause;
  return *measured_choice_;
}

Choice Pace::ChooseByTasks(double nodes) const {
  IterationCost cost;
  cost.tasks = TasksOf(code_);
  for (size_t i = 0; i < cost.tasks.size(); ++i) cost.tasks[i].ns = task_ns_[i] / kTimed;
  if (trailing_ != nullptr) {
    cost.is_trailing.assign(code_.condition.size(), false);
    cost.is_trailing.insert(cost.is_trailing.end(), trailing_->is_trailing.begin(),
                            trailing_->is_trailing.end());
  }
  cost.nodes = nodes;
  cost.threads = threads_;
  cost.parallel_iterations = parallel_iterations_;
  return Fastest(cost);
}

}  // namespace tensor_array_grad
