#include "cc/schedule/simulation.h"

#include <algorithm>
#include <queue>
#include <vector>

namespace tensor_array_grad {
namespace {

constexpr int kMostTasks = 20'000;  // of all iterations, unless four have more

constexpr int kNone = -1;

// A queue of tasks, linked by Simulation::after_. A task is in one queue at most.
struct TaskQueue {
  int first = kNone, last = kNone;
  bool empty() const { return first == kNone; }
};

// Each task of each iteration has a number: its iteration times `size_`, plus its index in
// `tasks_`.
class Simulation {
 public:
  Simulation(const std::vector<Task>& tasks, int threads, int parallel_iterations, int iterations)
      : tasks_(tasks),
        size_(static_cast<int>(tasks.size())),
        iterations_(
            std::min(iterations, std::clamp(kMostTasks / std::max(1, size_), 4, kMostSimulated))),
        window_(std::clamp(parallel_iterations, 1, iterations_)),
        numbers_(size_ * iterations_),
        idle_(threads),
        missing_(numbers_, 0),
        after_(numbers_, kNone),
        left_(iterations_, size_),
        readers_(size_),
        readers_in_next_(size_) {
    for (int i = 0; i < size_; ++i) {
      for (int read : tasks[i].reads) readers_[read].push_back(i);
      for (int read : tasks[i].reads_previous) readers_in_next_[read].push_back(i);
      const bool reads_nothing = tasks[i].reads.empty() && tasks[i].reads_previous.empty();
      if (reads_nothing) readers_in_next_[0].push_back(i);  // an iteration begins after the last
      const auto reads = static_cast<int>(tasks[i].reads.size());
      const auto previous = static_cast<int>(tasks[i].reads_previous.size());
      for (int k = 0; k < iterations_; ++k) {
        missing_[k * size_ + i] =
            reads + (k > 0 ? previous + reads_nothing : 0) + (k >= window_ ? 1 : 0);
      }
    }
  }

  double IterationNs() {
    for (int task = 0; task < size_; ++task) {
      if (missing_[task] == 0) ready_.push_back(task);
    }
    --idle_;
    GoOn({0, kNone, {}});
    double now = 0;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now = event.ns;
      if (event.task == kNone) {
        Wake(now);
        continue;
      }
      FindReady(event.task);
      GoOn(event);
    }
    return now / iterations_;
  }

 private:
  // A thread ends `task` and has `next` to do; or, if `task` is kNone, a thread may wake.
  struct Event {
    double ns;
    int task;
    TaskQueue next;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return a.ns > b.ns; }
  };

  double NsOf(int task) const { return tasks_[task % size_].ns; }

  void Put(int task, TaskQueue* queue) {
    (queue->empty() ? queue->first : after_[queue->last]) = task;
    queue->last = task;
  }

  int TakeFrom(TaskQueue* queue) {
    const int task = queue->first;
    queue->first = after_[task];
    after_[task] = kNone;
    return task;
  }

  // Leaves `task` to the other threads.
  void PutIntoPool(int task, double now) {
    Put(task, &pool_);
    if (idle_ > 0) events_.push({now + kWakeNs, kNone, {}});
  }

  // A thread that sleeps takes a task, unless another thread has.
  void Wake(double now) {
    if (idle_ == 0 || pool_.empty()) return;
    --idle_;
    Begin(TakeFrom(&pool_), now, {});
  }

  void Begin(int task, double now, const TaskQueue& next) {
    events_.push({now + NsOf(task), task, next});
  }

  // What a thread does with the tasks in `ready_` when it has ended one.
  void GoOn(const Event& ended) {
    TaskQueue next = ended.next;
    int heavy = kNone;
    for (int task : ready_) {
      if (NsOf(task) < kHeavyTaskNs) {
        Put(task, &next);
        continue;
      }
      if (heavy != kNone) PutIntoPool(heavy, ended.ns);
      heavy = task;
    }
    ready_.clear();
    if (heavy != kNone && next.empty()) {
      Put(heavy, &next);
    } else if (heavy != kNone) {
      PutIntoPool(heavy, ended.ns);
    }
    TaskQueue& from = next.empty() ? pool_ : next;
    if (from.empty()) {
      ++idle_;
      return;
    }
    const int task = TakeFrom(&from);
    Begin(task, ended.ns, next);
  }

  // Fills `ready_` with the tasks that waited only for `ended`.
  void FindReady(int ended) {
    const int iteration = ended / size_, index = ended % size_;
    for (int reader : readers_[index]) Note(iteration, reader);
    for (int reader : readers_in_next_[index]) Note(iteration + 1, reader);
    --left_[iteration];
    for (; oldest_ < iterations_ && left_[oldest_] == 0; ++oldest_) {
      for (int i = 0; i < size_; ++i) Note(oldest_ + window_, i);
    }
  }

  // Counts that one of those for which a task waits is done.
  void Note(int iteration, int index) {
    if (iteration >= iterations_) return;
    const int task = iteration * size_ + index;
    if (--missing_[task] == 0) ready_.push_back(task);
  }

  const std::vector<Task>& tasks_;
  const int size_, iterations_, window_, numbers_;
  int idle_;                  // how many threads sleep
  std::vector<int> missing_;  // by task: for how many others it waits
  std::vector<int> after_;    // by task: the next one in its queue
  std::vector<int> left_;     // by iteration: how many of its tasks are not done
  int oldest_ = 0;            // the first iteration that has not ended
  std::vector<std::vector<int>> readers_, readers_in_next_;  // by index
  std::vector<int> ready_;
  TaskQueue pool_;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
};

}  // namespace

double SimulatedNs(const std::vector<Task>& tasks, int threads, int parallel_iterations,
                   int iterations) {
  return Simulation(tasks, threads, parallel_iterations, iterations).IterationNs();
}

}  // namespace tensor_array_grad
