#include "cc/run/pace.h"

#include <algorithm>
#include <numeric>

namespace tensor_array_grad {

// Ends the current stage and begins the next one. The order is kIdle, kProbe, kWhole, kTasks;
// kWhole is left out if the iteration of kProbe was heavy, and kTasks if MayBeFaster is false.
Choice Pace::LookNow(int64_t iteration, double nodes_so_far) {
  const int64_t now = clock_();
  const auto iterations = static_cast<double>(iterations_);
  const double ns = static_cast<double>(now - start_ns_) / iterations;
  const double nodes = (nodes_so_far - nodes_before_) / iterations;
  start_ns_ = now;
  nodes_before_ = nodes_so_far;
  if (stage_ == kIdle) {
    // The next iteration waits for the second thread, if there is one.
    Begin(choice_ == Choice::kTwoThreads ? kIdle : kProbe, iteration, 1);
  } else if (IsTooLight(ns)) {
    Begin(kWhole, iteration, kTimed);
  } else if (stage_ != kTasks && MayBeFaster(ns, nodes, threads_, trailing_ != nullptr)) {
    task_ns_.assign(code_.condition.size() + code_.body.size(), 0);
    Begin(kTasks, iteration, stage_ == kProbe ? kTimedIfHeavy : kTimed);
  } else {
    const Choice choice = stage_ == kTasks ? ChooseByTasks(nodes) : Choice::kOneThread;
    measured_choice_ = choice;
    Begin(kIdle, iteration, kPause);
    return choice;
  }
  return Choice::kOneThread;
}

// Whether a stage of one or two iterations was too short to be trusted.
bool Pace::IsTooLight(double ns) const {
  return ns < kHeavyNs && (stage_ == kProbe || iterations_ == kTimedIfHeavy);
}

void Pace::Begin(Stage stage, int64_t iteration, int64_t iterations) {
  stage_ = stage;
  iterations_ = iterations;
  next_ = iteration + iterations;
}

Choice Pace::ChooseByTasks(double nodes) {
  IterationCost cost;
  cost.tasks = TasksOf(code_);
  for (size_t i = 0; i < cost.tasks.size(); ++i) {
    cost.tasks[i].ns = task_ns_[i] / static_cast<double>(iterations_);
  }
  if (trailing_ != nullptr) {
    cost.is_trailing.assign(code_.condition.size(), false);
    cost.is_trailing.insert(cost.is_trailing.end(), trailing_->is_trailing.begin(),
                            trailing_->is_trailing.end());
  }
  cost.nodes = nodes;
  cost.threads = threads_;
  cost.parallel_iterations = parallel_iterations_;
  cost.stays = stays_;
  const Choice choice = Fastest(cost);
  if (choice == Choice::kExecutor) {
    gain_ = std::accumulate(task_ns_.begin(), task_ns_.end(), 0.0) /
            static_cast<double>(iterations_) / ExecutorNs(cost);
  }
  return choice;
}

std::pair<double, int> Pace::Heaviest() const {
  const auto heaviest = std::max_element(task_ns_.begin(), task_ns_.end());
  const size_t index = heaviest - task_ns_.begin();
  const size_t in_condition = code_.condition.size();
  const Instruction& instruction =
      index < in_condition ? code_.condition[index] : code_.body[index - in_condition];
  return {*heaviest / std::accumulate(task_ns_.begin(), task_ns_.end(), 0.0), instruction.node};
}

}  // namespace tensor_array_grad
