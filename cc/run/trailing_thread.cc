#include "cc/run/trailing_thread.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cc/base/mutex.h"
#include "cc/base/steady_clock.h"
#include "cc/run/trace.h"
#include "cc/schedule/loop_cost.h"
#include "cc/schedule/trailing_code.h"

namespace tensor_array_grad {

// The iterations that wait, and the registers of the trailing code.
//
// Invariant: only the thread that has set `working_` uses `machine_`; the main thread also uses it
// while no iteration waits and `working_` is false.
class TrailingThread::Queue : public std::enable_shared_from_this<Queue> {
 public:
  struct Iteration {
    int64_t number;             // for the trace of a profiler
    std::vector<Value> values;  // of TrailingCode::handed_over
  };
  using Pool = std::function<void(std::function<void()>)>;

  Queue(const Executable& executable, OpKernelContext* ctx, size_t most_behind)
      : code_(*executable.trailing), most_behind_(most_behind), pool_(ctx->runner()) {
    machine_ = std::make_unique<RegisterMachine>(executable, ctx);
  }

  const TrailingCode& code() const { return code_; }
  RegisterMachine& machine() { return *machine_; }

  // Adds an iteration. If more than most_behind_ iterations have then not ended, waits until half
  // of them have.
  absl::Status Push(Iteration iteration) {
    bool ask = false, full = false;
    {
      MutexLock lock(&mu_);
      waiting_.push_back(std::move(iteration));
      full = Behind() > most_behind_;
      ask = pool_ != nullptr && !asked_ && !working_ && waiting_.size() >= LeastWaiting();
      asked_ |= ask;
    }
    if (ask) (*pool_)([self = shared_from_this()] { self->WorkInPool(); });
    return WaitFor(full ? (most_behind_ + 1) / 2 : most_behind_);
  }

  // Returns when at most `most` iterations have not ended, or the error of one. Executes iterations
  // on this thread if no other thread does.
  absl::Status WaitFor(size_t most) {
    {
      MutexLock lock(&mu_);
      awaited_ = most;
      while (working_ && Behind() > most) changed_.Wait(&mu_);
      if (exception_ != nullptr) std::rethrow_exception(exception_);
      if (Behind() <= most) return status_;
      working_ = true;
    }
    Work(most);
    return WaitFor(most);
  }

  // Afterwards no thread runs trailing code, and all registers are released.
  void Close() {
    MutexLock lock(&mu_);
    waiting_.clear();
    while (working_) changed_.Wait(&mu_);
    machine_ = nullptr;
  }

 private:
  void WorkInPool() {
    {
      MutexLock lock(&mu_);
      asked_ = false;
      if (working_ || waiting_.empty()) return;
      working_ = true;
    }
    Work(0);
  }

  // Runs iterations until at most `most` wait or one has failed, and then clears `working_`,
  // which this thread must have set.
  void Work(size_t most) {
    while (true) {
      Iteration iteration;
      {
        MutexLock lock(&mu_);
        running_ = false;
        working_ = waiting_.size() > most && !failed_;
        if (!working_ || Behind() <= awaited_) changed_.SignalAll();
        if (!working_) return;
        running_ = true;
        iteration = std::move(waiting_.front());
        waiting_.pop_front();
      }
      absl::Status status;
      std::exception_ptr exception;
      const int64_t start = SteadyNanos();
      try {
        status = Execute(&iteration);
      } catch (...) {  // an exception on a thread of the pool would end the process
        exception = std::current_exception();
      }
      is_light_.store(static_cast<double>(SteadyNanos() - start) < kLightTrailingNs,
                      std::memory_order_relaxed);
      if (status.ok() && exception == nullptr) continue;
      MutexLock lock(&mu_);
      failed_ = true;
      status_ = std::move(status);
      exception_ = std::move(exception);
    }
  }

  // How many iterations must wait before a thread of the pool is asked for.
  size_t LeastWaiting() const {
    return is_light_.load(std::memory_order_relaxed)
               ? std::min<size_t>(kMostLightBehind, (most_behind_ + 1) / 2)
               : 1;
  }

  // How many iterations have not ended. After a failure none will run.
  size_t Behind() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return failed_ ? 0 : waiting_.size() + (running_ ? 1 : 0);
  }

  absl::Status Execute(Iteration* iteration) {
    const TraceMe event([&] { return IterationEvent(iteration->number); }, kTraceLevel);
    const auto& handed_over = code_.handed_over;
    for (size_t i = 0; i < handed_over.size(); ++i) {
      machine_->at(handed_over[i].reg).Assign(&iteration->values[i], true);
    }
    TF_RETURN_IF_ERROR(machine_->Execute(code_.body, nullptr, IsTraced()));
    machine_->Do(code_.next);
    for (const Read& read : handed_over) machine_->at(read.reg).Release();
    return absl::OkStatus();
  }

  const TrailingCode& code_;
  const size_t most_behind_;
  Pool* const pool_;  // null: no threads
  std::unique_ptr<RegisterMachine> machine_;
  Mutex mu_;
  std::deque<Iteration> waiting_ ABSL_GUARDED_BY(mu_);
  bool asked_ ABSL_GUARDED_BY(mu_) = false;    // whether a closure waits in the pool
  bool working_ ABSL_GUARDED_BY(mu_) = false;  // whether a thread works on the queue
  bool running_ ABSL_GUARDED_BY(mu_) = false;  // whether that thread runs an iteration now
  bool failed_ ABSL_GUARDED_BY(mu_) = false;
  size_t awaited_ ABSL_GUARDED_BY(mu_) = 0;  // the Behind() for which WaitFor waits
  CondVar changed_;                          // working_ became false, or Behind() <= awaited_
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::exception_ptr exception_ ABSL_GUARDED_BY(mu_);
  std::atomic<bool> is_light_{false};  // whether the last iteration that has run was
};

TrailingThread::TrailingThread(const Executable& executable, OpKernelContext* ctx, int most_behind)
    : queue_(std::make_shared<Queue>(executable, ctx, static_cast<size_t>(most_behind))) {}

TrailingThread::~TrailingThread() { queue_->Close(); }

void TrailingThread::Begin(RegisterMachine* main) {
  RegisterMachine& own = queue_->machine();
  for (int reg : queue_->code().constants) own.at(reg).Assign(&main->at(reg), false);
  for (int reg : queue_->code().variables) own.at(reg).Assign(&main->at(reg), true);
}

absl::Status TrailingThread::Add(int64_t number, RegisterMachine* main) {
  const auto& handed_over = queue_->code().handed_over;
  Queue::Iteration iteration{number, std::vector<Value>(handed_over.size())};
  for (size_t i = 0; i < handed_over.size(); ++i) {
    iteration.values[i].Assign(&main->at(handed_over[i].reg), handed_over[i].last);
  }
  return queue_->Push(std::move(iteration));
}

absl::Status TrailingThread::Wait() { return queue_->WaitFor(0); }

absl::Status TrailingThread::End(RegisterMachine* main) {
  TF_RETURN_IF_ERROR(Wait());
  RegisterMachine& own = queue_->machine();
  for (int reg : queue_->code().variables) main->at(reg).Assign(&own.at(reg), true);
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
