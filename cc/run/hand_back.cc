#include "cc/run/hand_back.h"

#include <algorithm>
#include <map>

#include "absl/time/clock.h"

namespace tensor_array_grad {
namespace {

constexpr int kSimulated = 24, kWarmUp = 12;  // iterations

// Makes the tasks of one iteration. Goes through the code in order and finds, for each register and
// flag that a task reads, the task that wrote it last. A register that no task has written yet is a
// variable or a constant of the loop. If a move writes it, the task reads what the previous
// iteration computed for that move.
class TaskBuilder {
 public:
  explicit TaskBuilder(const LoopCode& code) : code_(code) {}

  std::vector<Task> Build() {
    for (const auto* part : {&code_.condition, &code_.body}) {
      for (const Instruction& instruction : *part) Add(instruction);
    }
    for (const Move& move : code_.next) {
      const auto writer = writers_.find(move.from.reg);
      carried_[move.to] = writer == writers_.end() ? -1 : writer->second;
    }
    for (size_t i = 0; i < tasks_.size(); ++i) {
      for (int reg : unwritten_[i]) {
        const auto carried = carried_.find(reg);
        if (carried != carried_.end() && carried->second >= 0) {
          tasks_[i].reads_previous.push_back(carried->second);
        }
      }
    }
    return std::move(tasks_);
  }

 private:
  void Add(const Instruction& instruction) {
    tasks_.emplace_back();
    unwritten_.emplace_back();
    ForEachRead(instruction, [this](const Read& read, int) { AddRead(read.reg); });
    for (const Alternative& alternative : instruction.alternatives) {
      for (int flag : alternative.guards) AddGuard(flag);
    }
    for (int flag : instruction.guards) AddGuard(flag);
    for (int other : instruction.after) {
      const int task = other < 0 ? ~other : static_cast<int>(code_.condition.size()) + other;
      tasks_.back().reads.push_back(task);
    }
    const int self = static_cast<int>(tasks_.size()) - 1;
    for (int reg : instruction.outputs) writers_[reg] = self;
    for (int flag : instruction.sides) setters_[flag] = self;
    if (instruction.flag >= 0) setters_[instruction.flag] = self;
  }

  void AddRead(int reg) {
    const auto writer = writers_.find(reg);
    if (writer != writers_.end()) {
      tasks_.back().reads.push_back(writer->second);
    } else {
      unwritten_.back().push_back(reg);
    }
  }

  void AddGuard(int flag) {
    const auto setter = setters_.find(flag);
    if (setter != setters_.end()) tasks_.back().reads.push_back(setter->second);
  }

  const LoopCode& code_;
  std::vector<Task> tasks_;
  std::vector<std::vector<int>> unwritten_;  // by task: registers not yet written when it reads
  std::map<int, int> writers_, setters_;     // last writer of each register and flag
  std::map<int, int> carried_;               // by variable: task of its next value, or -1
};

}  // namespace

std::vector<Task> TasksOf(const LoopCode& code) { return TaskBuilder(code).Build(); }

bool MayBeFaster(double ns, double nodes, int threads, bool has_trailing_part) {
  if (threads < 2) return false;
  const bool two_threads = has_trailing_part && ns / 2 + kHandOverNs < kTwoThreadsRatio * ns;
  return two_threads || ns / threads + nodes * kNodeNs < kHandBackRatio * ns;
}

// The formula of hand_back.h. The chain C is found by simulating kSimulated iterations with a
// thread for every task. A task takes its time and kNodeNs, and starts when the tasks that it reads
// have ended. An iteration starts when the one `parallel_iterations` before it has ended. C is the
// time between the ends of two successive iterations, averaged over those after the first kWarmUp,
// which do not overlap fully yet.
double ExecutorNs(const IterationCost& cost) {
  const size_t n = cost.tasks.size();
  double work = 0;
  for (const Task& task : cost.tasks) work += task.ns;
  std::vector<double> done(n, 0), before(n, 0);  // end of each task in this and the last iteration
  std::vector<double> ends;                      // by iteration
  for (int iteration = 0; iteration < kSimulated; ++iteration) {
    const int window = iteration - std::max(1, cost.parallel_iterations);
    const double start = window >= 0 ? ends[window] : 0;
    double end = start;
    for (size_t i = 0; i < n; ++i) {
      double ready = start;
      for (int task : cost.tasks[i].reads) ready = std::max(ready, done[task]);
      for (int task : cost.tasks[i].reads_previous) ready = std::max(ready, before[task]);
      done[i] = ready + cost.tasks[i].ns + kNodeNs;
      end = std::max(end, done[i]);
    }
    ends.push_back(end);
    std::swap(done, before);
  }
  const double chain = (ends[kSimulated - 1] - ends[kWarmUp - 1]) / (kSimulated - kWarmUp);
  return work / cost.threads + chain * (1 - 1.0 / cost.threads) + cost.nodes * kNodeNs;
}

double TwoThreadsNs(const IterationCost& cost) {
  double main = 0, trailing = 0;
  for (size_t i = 0; i < cost.tasks.size(); ++i) {
    (cost.is_trailing[i] ? trailing : main) += cost.tasks[i].ns;
  }
  return std::max(main, trailing) + kHandOverNs;
}

Choice Fastest(const IterationCost& cost) {
  if (cost.threads < 2) return Choice::kOneThread;
  double best = 0;
  for (const Task& task : cost.tasks) best += task.ns;
  Choice choice = Choice::kOneThread;
  if (!cost.is_trailing.empty() && TwoThreadsNs(cost) < kTwoThreadsRatio * best) {
    choice = Choice::kTwoThreads;
    best = TwoThreadsNs(cost);
  }
  return ExecutorNs(cost) < kHandBackRatio * best ? Choice::kExecutor : choice;
}

// Ends the current stage and begins the next one. kIdle lasts until the first iteration that is
// timed, kWhole and kTasks last kTimed iterations each. kTasks is skipped if MayBeFaster is false
// for the time of kWhole. The choice is made at the end of kTasks.
Choice Pace::LookNow(int64_t iteration, double nodes_so_far, const LoopCode& code,
                     const TrailingCode* trailing, int parallel_iterations) {
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
  if (stage == kWhole && MayBeFaster(ns, nodes, threads_, trailing != nullptr)) {
    task_ns_.assign(code.condition.size() + code.body.size(), 0);
    stage_ = kTasks;
    next_ = iteration + kTimed;
    return Choice::kOneThread;
  }
  measured_choice_ = stage == kWhole ? Choice::kOneThread
                                     : ChooseByTasks(nodes, code, trailing, parallel_iterations);
  stage_ = kIdle;
  next_ = iteration + kPause;
  return *measured_choice_;
}

Choice Pace::ChooseByTasks(double nodes, const LoopCode& code, const TrailingCode* trailing,
                           int parallel_iterations) const {
  IterationCost cost;
  cost.tasks = TasksOf(code);
  for (size_t i = 0; i < cost.tasks.size(); ++i) cost.tasks[i].ns = task_ns_[i] / kTimed;
  if (trailing != nullptr) {
    cost.is_trailing.assign(code.condition.size(), false);
    cost.is_trailing.insert(cost.is_trailing.end(), trailing->is_trailing.begin(),
                            trailing->is_trailing.end());
  }
  cost.nodes = nodes;
  cost.threads = threads_;
  cost.parallel_iterations = parallel_iterations;
  return Fastest(cost);
}

}  // namespace tensor_array_grad
