#include "cc/schedule/loop_cost.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tensor_array_grad {
namespace {

// Makes the tasks of one iteration. Goes through the code in order and finds, for each register and
// flag that a task reads, the task that wrote it last. A register that no task has written yet is a
// variable or a constant of the loop. If a move writes it, the task reads what the previous
// iteration computed for that move. The body waits for the condition.
class TaskBuilder {
 public:
  explicit TaskBuilder(const LoopCode& code) : code_(code) {}

  std::vector<Task> Build() {
    for (const Instruction& instruction : code_.condition) Add(instruction);
    for (const Instruction& instruction : code_.body) {
      Add(instruction);
      AddRead(code_.predicate);
    }
    for (const Move& move : code_.next) moves_[move.to] = move.from.reg;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      for (int reg : unwritten_[i]) {
        const int task = WriterInPrevious(reg);
        if (task >= 0) tasks_[i].reads_previous.push_back(task);
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
    for (int reg : instruction.outputs) {
      if (reg >= 0) writers_[reg] = self;
    }
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

  // The task of an iteration before whose output became the value of the variable `reg`, or -1. If
  // the value was that of another variable before, as in `a, b = b, f(a)`, it is older than one
  // iteration.
  int WriterInPrevious(int reg) const {
    for (size_t i = 0; i < moves_.size(); ++i) {
      const auto move = moves_.find(reg);
      if (move == moves_.end()) return -1;
      const auto writer = writers_.find(move->second);
      if (writer != writers_.end()) return writer->second;
      reg = move->second;
    }
    return -1;
  }

  const LoopCode& code_;
  std::vector<Task> tasks_;
  std::vector<std::vector<int>> unwritten_;  // by task: registers not yet written when it reads
  std::map<int, int> writers_, setters_;     // last writer of each register and flag
  std::map<int, int> moves_;                 // by variable: register of its next value
};

}  // namespace

std::vector<Task> TasksOf(const LoopCode& code) { return TaskBuilder(code).Build(); }

bool MayBeFaster(double ns, double nodes, int threads, bool has_trailing_part) {
  if (threads < 2) return false;
  const bool two_threads = has_trailing_part && ns / 2 + kSecondThreadNs < kTwoThreadsRatio * ns;
  return two_threads || ns / threads + nodes * kNodeNs < kHandBackRatio * ns;
}

double ExecutorNs(const IterationCost& cost) {
  const double kernels =
      SimulatedNs(cost.tasks, cost.threads, cost.parallel_iterations, cost.iterations);
  return kernels + cost.nodes * kNodeNs;
}

double TwoThreadsNs(const IterationCost& cost) {
  double main = 0, trailing = 0;
  for (size_t i = 0; i < cost.tasks.size(); ++i) {
    (cost.is_trailing[i] ? trailing : main) += cost.tasks[i].ns;
  }
  const int behind = trailing < kLightTrailingNs ? kMostLightBehind : 1;
  const double alone = static_cast<double>(std::min(behind, cost.iterations)) / cost.iterations;
  return std::max(main, trailing) + alone * std::min(main, trailing) + kSecondThreadNs;
}

Estimate Fastest(const IterationCost& cost) {
  Estimate fastest;
  if (cost.threads < 2) return fastest;
  double one = 0;
  for (const Task& task : cost.tasks) one += task.ns;
  double best = one;
  const double busy = cost.busy_ns / cost.threads;
  const double two = cost.is_trailing.empty() ? one : std::max(TwoThreadsNs(cost), busy);
  if (two < kTwoThreadsRatio * one) {
    fastest = {Choice::kTwoThreads, one / two};
    best = two;
  }
  if (cost.stays) return fastest;
  const double executor = ExecutorNs(cost);
  const bool is_divided = fastest.choice == Choice::kTwoThreads;
  const bool is_clear = !is_divided && executor * kClearGain <= one;
  const double least = is_clear ? 0 : busy + cost.nodes * kNodeNs;
  const bool has_halves = is_divided && cost.keeps_half;
  const double most = has_halves ? kHalvesRatio * best - kWakeNs : kHandBackRatio * best;
  if (std::max(executor, least) < most) {
    fastest = {Choice::kExecutor, one / executor};
  }
  return fastest;
}

}  // namespace tensor_array_grad
