// The kernel of RunLoop. The constructor prepares the loop. Each call runs the loop, or passes the
// loop variables on to the stock loop.

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "cc/base/counters.h"
#include "cc/base/loop_record.h"
#include "cc/base/steady_clock.h"
#include "cc/kernels/registration.h"
#include "cc/run/executable.h"
#include "cc/run/interpreter.h"
#include "cc/run/newest_executable.h"
#include "cc/run/pooled_device.h"
#include "cc/run/trace.h"
#include "tensorflow/core/common_runtime/step_stats_collector.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tensor_array_grad {
namespace {

Counter runs("loops.runs");
Counter iterations("loops.iterations");
Counter handed_back("loops.handed_back");
Counter trailing_threads("loops.trailing_threads");
Counter passed("loops.passed_by_for_a_trace");

// Whether this step collects statistics of each node (RunOptions.trace_level, cost models). The
// loop is then left to the stock loop, whose nodes they show. tf.data runs its functions with a
// collector of another class, which only adds up the time of the nodes. A profiler needs no
// collector: the interpreter records events for it (trace.h).
bool HasStatistics(OpKernelContext* ctx) {
  return dynamic_cast<tensorflow::StepStatsCollector*>(ctx->stats_collector()) != nullptr;
}

// The number of threads that the executor has for the nodes of the op's graph.
int Threads(OpKernelContext* ctx) {
  if (ctx->run_all_kernels_inline()) return 1;
  auto* const library = ctx->function_library();
  const auto* const config = library == nullptr ? nullptr : library->config_proto();
  return ExecutorThreads(config == nullptr ? 0 : config->inter_op_parallelism_threads());
}

// One call of RunLoop. If the loop cannot be prepared, or if a run is left to the stock loop, the
// op outputs its inputs, the first values of the variables. The stock loop after it then runs all
// iterations. If memory runs out while a loop runs, Counted turns the exception into an error,
// except in a called function (function_call.h).
class LoopRun {
 public:
  // Both must outlive the run.
  LoopRun(NewestExecutable* newest, OpKernelContext* ctx) : newest_(*newest), ctx_(ctx) {}
  LoopRun(const LoopRun&) = delete;
  ~LoopRun() {
    if (interpreter_ != nullptr) record_.AddRun(iterations_, SteadyNanos() - start_);
  }

  // Runs the loop and sets the outputs. Returns earlier if the loop waits for a lock; when
  // CallAfterWait has called back, GoOn is to be called instead. The same then holds for GoOn.
  absl::Status Start() {
    loop_ = newest_.Get();
    LoopCounts& counts = record_.counts;
    if (loop_ == nullptr || !HasKnownInputs()) return PassOn();
    if (!loop_->is_seeded && HasStatistics(ctx_)) {
      passed.Add();
      counts.passed_by.fetch_add(1, std::memory_order_relaxed);
      return PassOn();
    }
    run_start_ = loop_->choices.Next();
    if (run_start_.choice == Choice::kExecutor) {
      GiveBackFreeBuffers(loop_->pooled_device.get());
      counts.passed_on.fetch_add(1, std::memory_order_relaxed);
      return PassOn();
    }
    runs.Add();
    interpreter_ = std::make_unique<Interpreter>(*loop_, ctx_, Threads(ctx_), run_start_);
    for (int i = 0; i < ctx_->num_inputs(); ++i) interpreter_->TakeArgument(i);
    return GoOn();
  }

  absl::Status GoOn() {
    TF_RETURN_IF_ERROR(Run());
    while (interpreter_->is_outdated()) {
      std::shared_ptr<const Executable> next = newest_.Get();
      run_start_ = {};
      auto continued = std::make_unique<Interpreter>(*next, ctx_, Threads(ctx_), run_start_);
      for (int i = 0; i < ctx_->num_inputs(); ++i) continued->Take(i, interpreter_->Result(i));
      interpreter_ = std::move(continued);
      loop_ = std::move(next);
      TF_RETURN_IF_ERROR(Run());
    }
    if (!is_waiting()) Finish();
    return absl::OkStatus();
  }

  bool is_waiting() const { return interpreter_ != nullptr && interpreter_->is_waiting(); }
  void CallAfterWait(std::function<void()> go_on) { interpreter_->CallAfterWait(std::move(go_on)); }

 private:
  absl::Status Run() {
    const absl::Status status = interpreter_->Run();
    if (is_waiting()) return status;
    iterations.Add(interpreter_->iterations());
    iterations_ += interpreter_->iterations();
    loop_->called.NoteServed(interpreter_->iterations());
    if (interpreter_->had_trailing_thread()) {
      trailing_threads.Add();
      record_.counts.two_threads.fetch_add(1, std::memory_order_relaxed);
    }
    return status;
  }

  // What a run chooses while a profiler is active holds for that run only: the time of an inner
  // loop or a called function then includes the time to record the events in it.
  void Finish() {
    if (interpreter_->handed_back()) {
      handed_back.Add();
      record_.counts.handed_back.fetch_add(1, std::memory_order_relaxed);
      GiveBackFreeBuffers(loop_->pooled_device.get());
    }
    const Pace& pace = interpreter_->pace();
    const std::optional<Choice> choice = pace.measured_choice();
    const bool counts = !loop_->is_seeded && !loop_->called.IsAnyKnown() && !IsTraced();
    if (choice == Choice::kExecutor && (counts || interpreter_->handed_back())) {
      newest_.NoteExecutor(*loop_, pace);
    }
    if (choice && counts) {
      loop_->choices.Record(*choice, pace.is_clear(), pace.iteration_ns());
    } else if (!run_start_.choice) {
      loop_->choices.RecordNone(pace.was_too_short());
    }
    for (int i = 0; i < ctx_->num_outputs(); ++i) ctx_->set_output(i, interpreter_->Result(i));
  }

  // Whether the inputs have the values with which the loop was compiled: always, unless the op
  // comes from a file.
  bool HasKnownInputs() const {
    const auto& known = loop_->known_inputs;
    return std::all_of(known.begin(), known.end(), [this](const std::pair<int, int>& input) {
      const Tensor& value = ctx_->input(input.first);
      return value.dtype() == DT_BOOL && value.dims() == 0 &&
             static_cast<int>(value.scalar<bool>()()) == input.second;
    });
  }

  // Leaves the run to the stock loop.
  absl::Status PassOn() {
    for (int i = 0; i < ctx_->num_outputs(); ++i) ctx_->set_output(i, ctx_->input(i));
    return absl::OkStatus();
  }

  NewestExecutable& newest_;
  OpKernelContext* const ctx_;
  LoopRecord& record_ = newest_.record();
  const int64_t start_ = SteadyNanos();
  RunStart run_start_;
  int64_t iterations_ = 0;
  std::shared_ptr<const Executable> loop_;
  std::unique_ptr<Interpreter> interpreter_;  // null: passed on
};

class RunLoopOp : public OpKernel {
 public:
  explicit RunLoopOp(OpKernelConstruction* ctx) : OpKernel(ctx), loop_(ctx) {}

  void Compute(OpKernelContext* ctx) override { OP_REQUIRES_OK(ctx, LoopRun(&loop_, ctx).Start()); }

 private:
  NewestExecutable loop_;
};

// The same for a loop that takes locks: it has no thread while it waits for one (lock_wait.h).
class RunLoopWithLocksOp : public tensorflow::AsyncOpKernel {
 public:
  explicit RunLoopWithLocksOp(OpKernelConstruction* ctx)
      : AsyncOpKernel(ctx), out_of_memory_(OutOfMemory(*this)), loop_(ctx) {}

  void ComputeAsync(OpKernelContext* ctx, DoneCallback done) override {
    Continue(new Call{{&loop_, ctx}, ctx, std::move(done)}, &LoopRun::Start);
  }

 private:
  struct Call {
    LoopRun run;
    OpKernelContext* ctx;
    DoneCallback done;
  };

  // Goes on until the loop waits again or ends. `call` is then destroyed before the callback is
  // called, so that the run has given up its locks. No exception leaves this function.
  void Continue(Call* call, absl::Status (LoopRun::*step)()) noexcept {
    absl::Status status;
    try {
      status = (call->run.*step)();
    } catch (const std::bad_alloc&) {
      status = out_of_memory_;
    }
    if (status.ok() && call->run.is_waiting()) {
      return call->run.CallAfterWait([this, call] { AskForThread(call); });
    }
    call->ctx->SetStatus(status);
    const DoneCallback done = std::move(call->done);
    delete call;
    done();
  }

  void AskForThread(Call* call) {
    const auto* const pool = call->ctx->runner();
    const auto go_on = [this, call] { Continue(call, &LoopRun::GoOn); };
    pool == nullptr ? go_on() : (*pool)(go_on);
  }

  const absl::Status out_of_memory_;
  NewestExecutable loop_;
};

OpKernel* MakeRunLoop(OpKernelConstruction* ctx) {
  bool takes_locks = false;
  (void)TryGetNodeAttr(ctx->def(), "takes_locks", &takes_locks);
  return takes_locks ? MakeAsyncKernel<RunLoopWithLocksOp>(ctx) : MakeKernel<RunLoopOp>(ctx);
}

}  // namespace

KernelTable LoopKernels() {
  return {{ops::kRunLoop, MakeRunLoop, {}, {}, KernelSpec::kCpu},
          {ops::kRunLoopInSession, MakeRunLoop, {}, {}, KernelSpec::kCpu}};
}

}  // namespace tensor_array_grad
