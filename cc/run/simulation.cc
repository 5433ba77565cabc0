#include "cc/run/simulation.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <utility>
#include <vector>

namespace tensor_array_grad {
namespace {

constexpr int kSimulated = 24;  // iterations

// Each task of each iteration has a number: its iteration times `size_`, plus its index in
// IterationCost::tasks.
class Simulation {
 public:
  explicit Simulation(const IterationCost& cost)
      : cost_(cost),
        size_(static_cast<int>(cost.tasks.size())),
        window_(std::max(1, cost.parallel_iterations)),
        missing_(size_ * kSimulated, 0),
        left_(kSimulated, size_),
        readers_(size_),
        readers_in_next_(size_) {
    for (int i = 0; i < size_; ++i) {
      for (int read : cost.tasks[i].reads) readers_[read].push_back(i);
      for (int read : cost.tasks[i].reads_previous) readers_in_next_[read].push_back(i);
      const auto reads = static_cast<int>(cost.tasks[i].reads.size());
      const auto previous = static_cast<int>(cost.tasks[i].reads_previous.size());
      for (int k = 0; k < kSimulated; ++k) {
        missing_[k * size_ + i] = reads + (k > 0 ? previous : 0) + (k >= window_ ? 1 : 0);
      }
    }
  }

  double IterationNs() {
    for (int task = 0; task < size_ * std::min(kSimulated, window_); ++task) {
      if (missing_[task] == 0) pool_.push_back({0, task});
    }
    idle_.assign(cost_.threads, 0);
    WakeThreads();
    double end = 0;
    while (!running_.empty()) {
      const Run run = running_.top();
      running_.pop();
      end = run.end;
      End(run);
    }
    return end / kSimulated;
  }

 private:
  struct Run {
    double end;
    int task;
    std::deque<int> next;  // what its thread runs after it
    bool operator<(const Run& other) const { return end > other.end; }  // the first to end on top
  };
  struct InPool {
    double from;  // when a thread may take it
    int task;
  };

  double NsOf(int task) const { return cost_.tasks[task % size_].ns; }

  // What a thread does after a task.
  void End(const Run& run) {
    std::deque<int> next = run.next;
    int heavy = -1;
    for (int task : MadeReadyBy(run)) {
      if (NsOf(task) < kHeavyTaskNs) {
        next.push_back(task);
        continue;
      }
      if (heavy >= 0) pool_.push_back({run.end + kWakeNs, heavy});
      heavy = task;
    }
    if (heavy >= 0 && next.empty()) {
      next.push_back(heavy);
    } else if (heavy >= 0) {
      pool_.push_back({run.end + kWakeNs, heavy});
    }
    if (next.empty()) {
      idle_.push_back(run.end);
    } else {
      const int task = next.front();
      next.pop_front();
      running_.push({run.end + NsOf(task), task, std::move(next)});
    }
    WakeThreads();
  }

  std::vector<int> MadeReadyBy(const Run& run) {
    std::vector<int> ready;
    const int iteration = run.task / size_, index = run.task % size_;
    for (int reader : readers_[index]) Note(iteration, reader, &ready);
    for (int reader : readers_in_next_[index]) Note(iteration + 1, reader, &ready);
    if (--left_[iteration] == 0) {
      for (int i = 0; i < size_; ++i) Note(iteration + window_, i, &ready);
    }
    return ready;
  }

  // Counts that one of the tasks for which a task waits is done.
  void Note(int iteration, int index, std::vector<int>* ready) {
    if (iteration >= kSimulated) return;
    const int task = iteration * size_ + index;
    if (--missing_[task] == 0) ready->push_back(task);
  }

  void WakeThreads() {
    while (!idle_.empty() && !pool_.empty()) {
      const double start = std::max(idle_.back(), pool_.front().from);
      const int task = pool_.front().task;
      running_.push({start + NsOf(task), task, {}});
      idle_.pop_back();
      pool_.pop_front();
    }
  }

  const IterationCost& cost_;
  const int size_, window_;
  std::vector<int> missing_;  // by task: for how many others it waits
  std::vector<int> left_;     // by iteration: how many of its tasks are not done
  std::vector<std::vector<int>> readers_, readers_in_next_;  // by index
  std::deque<InPool> pool_;
  std::vector<double> idle_;  // since when threads have nothing to do
  std::priority_queue<Run> running_;
};

}  // namespace

double SimulatedNs(const IterationCost& cost) { return Simulation(cost).IterationNs(); }

}  // namespace tensor_array_grad
