#include "cc/run/function_call.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "cc/base/mutex.h"
#include "cc/base/steady_clock.h"

namespace tensor_array_grad {
namespace {

using Work = std::function<void()>;
using Pool = std::function<void(Work)>;

// How long a thread looks for work before it sleeps. With help, the two threads often end their
// work at about the same time. To sleep and to be woken takes longer: two decompositions of 100 x
// 100 matrices, side by side in a function, took 310 us instead of 280.
constexpr int64_t kSpinNs = 50'000;

void WorkAtOnce(const Work& work) { work(); }

// The work of one call. Kernels may keep the pool that they were given, so the queue may be used
// after the call has ended; it then passes all work on.
class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  WorkQueue(Pool executors_pool, bool with_help)
      : executors_pool_(std::move(executors_pool)), with_help_(with_help) {}

  void Add(Work work) {
    {
      MutexLock lock(&mu_);
      if (!is_closed_) {
        work_.push_back(std::exchange(work, nullptr));
        changed_.SignalAll();
        // What the pool is to do instead.
        if (with_help_) work = [self = shared_from_this()] { self->Help(); };
      }
    }
    if (work != nullptr) executors_pool_(std::move(work));
  }

  void NoteDone() {
    MutexLock lock(&mu_);
    is_done_ = true;
    changed_.SignalAll();
  }

  // Runs work until NoteDone has been called. The function needs none of what is left then.
  void WorkUntilDone() {
    std::deque<Work> left;
    while (true) {
      Work work;
      if (with_help_) Spin();
      {
        MutexLock lock(&mu_);
        while (work_.empty() && !is_done_) changed_.Wait(&mu_);
        if (is_done_) {
          is_closed_ = true;
          left.swap(work_);
          break;
        }
        work = TakeLocked();
      }
      work();
    }
    for (Work& work : left) executors_pool_(std::move(work));
  }

 private:
  // Looks for a while whether a helper ends the call or has more work, before it sleeps.
  void Spin() {
    const int64_t end = SteadyNanos() + kSpinNs;
    while (SteadyNanos() < end) {
      MutexLock lock(&mu_);
      if (!work_.empty() || is_done_) return;
    }
  }

  void Help() {
    Work work;
    {
      MutexLock lock(&mu_);
      if (work_.empty()) return;
      work = TakeLocked();
    }
    work();
  }

  Work TakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Work work = std::move(work_.front());
    work_.pop_front();
    return work;
  }

  const Pool executors_pool_;
  const bool with_help_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Work> work_ ABSL_GUARDED_BY(mu_);
  bool is_done_ ABSL_GUARDED_BY(mu_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

void FunctionCall::Call(tensorflow::AsyncOpKernel* kernel,
                        tensorflow::OpKernelContext::Params* params,
                        OpKernelContext* ctx) noexcept {
  Pool* const executors_pool = params->runner;
  const auto queue =
      std::make_shared<WorkQueue>(executors_pool != nullptr ? *executors_pool : WorkAtOnce,
                                  has_loop_ || takes_long_.load(std::memory_order_relaxed));
  Pool pool = [queue](Work work) { queue->Add(std::move(work)); };
  params->runner = &pool;
  const int64_t start = SteadyNanos();
  // The kernel instantiates the function in its first call, before ComputeAsync returns.
  const auto compute = [&] { kernel->ComputeAsync(ctx, [queue] { queue->NoteDone(); }); };
  function_ == nullptr ? compute() : function_->Call(compute);
  queue->WorkUntilDone();
  const double ns = static_cast<double>(SteadyNanos() - start);
  takes_long_.store(ns > kLongNs, std::memory_order_relaxed);
  params->runner = executors_pool;
}

}  // namespace tensor_array_grad
