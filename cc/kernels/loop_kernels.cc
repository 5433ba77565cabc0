// The kernel of RunLoop. The constructor prepares the loop. Each call runs the loop, or passes the
// loop variables on to the stock loop.

#include <algorithm>
#include <memory>
#include <utility>

#include "cc/base/counters.h"
#include "cc/kernels/registration.h"
#include "cc/run/executable.h"
#include "cc/run/interpreter.h"
#include "cc/run/newest_executable.h"
#include "cc/run/pooled_device.h"
#include "tensorflow/core/common_runtime/step_stats_collector.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/platform/cpu_info.h"
#include "tensorflow/core/profiler/lib/traceme.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tensor_array_grad {
namespace {

Counter runs("loops.runs");
Counter iterations("loops.iterations");
Counter handed_back("loops.handed_back");
Counter trailing_threads("loops.trailing_threads");
Counter passed("loops.passed_by_for_a_trace");

// Whether a trace or a profiler is active. The loop is then left to the stock loop, in which the
// trace shows each op. The statistics that a person reads come from a StepStatsCollector. tf.data
// runs its functions with a collector of another class, which only adds up the time of the nodes.
bool IsTraced(OpKernelContext* ctx) {
  return dynamic_cast<tensorflow::StepStatsCollector*>(ctx->stats_collector()) != nullptr ||
         tsl::profiler::TraceMe::Active();
}

// The number of threads that the executor has for kernels of one graph.
int Threads(OpKernelContext* ctx) {
  const int cores = tensorflow::port::MaxParallelism();
  if (ctx->run_all_kernels_inline()) return 1;
  const tensorflow::ConfigProto* const config = ctx->function_library()->config_proto();
  const int asked = config == nullptr ? 0 : config->inter_op_parallelism_threads();
  return asked > 0 ? std::min(asked, cores) : cores;
}

// If the loop cannot be prepared, or if a run is left to the stock loop, the op outputs its inputs,
// the first values of the variables. The stock loop after it then runs all iterations. If memory
// runs out while a loop runs, Counted turns the exception into an error, except in a called
// function (function_call.h).
class RunLoopOp : public OpKernel {
 public:
  explicit RunLoopOp(OpKernelConstruction* ctx) : OpKernel(ctx), loop_(ctx) {}

  void Compute(OpKernelContext* ctx) override {
    std::shared_ptr<const Executable> loop = loop_.Get();
    if (loop == nullptr) return PassOn(ctx);
    if (!loop->is_seeded && IsTraced(ctx)) {
      passed.Add();
      return PassOn(ctx);
    }
    const Choice first = loop->choices.Next();
    if (first == Choice::kExecutor) {
      GiveBackFreeBuffers(loop->pooled_device.get());
      return PassOn(ctx);
    }
    runs.Add();
    auto interpreter = std::make_unique<Interpreter>(*loop, ctx, Threads(ctx), first);
    for (int i = 0; i < ctx->num_inputs(); ++i) interpreter->TakeArgument(i);
    OP_REQUIRES_OK(ctx, Run(*loop, interpreter.get()));
    while (interpreter->is_outdated()) {
      std::shared_ptr<const Executable> next = loop_.Get();
      auto continued = std::make_unique<Interpreter>(*next, ctx, Threads(ctx), Choice::kOneThread);
      for (int i = 0; i < ctx->num_inputs(); ++i) continued->Take(i, interpreter->Result(i));
      interpreter = std::move(continued);
      loop = std::move(next);
      OP_REQUIRES_OK(ctx, Run(*loop, interpreter.get()));
    }
    if (interpreter->handed_back()) {
      handed_back.Add();
      GiveBackFreeBuffers(loop->pooled_device.get());
    }
    const auto choice = interpreter->measured_choice();
    if (choice && !loop->is_seeded && !loop->has_bodies) loop->choices.Record(*choice);
    for (int i = 0; i < ctx->num_outputs(); ++i) ctx->set_output(i, interpreter->Result(i));
  }

 private:
  static absl::Status Run(const Executable& loop, Interpreter* interpreter) {
    const absl::Status status = interpreter->Run();
    iterations.Add(interpreter->iterations());
    loop.served.fetch_add(interpreter->iterations(), std::memory_order_relaxed);
    if (interpreter->had_trailing_thread()) trailing_threads.Add();
    return status;
  }

  static void PassOn(OpKernelContext* ctx) {
    for (int i = 0; i < ctx->num_outputs(); ++i) ctx->set_output(i, ctx->input(i));
  }

  NewestExecutable loop_;
};

}  // namespace

KernelTable LoopKernels() {
  return {{"TensorArrayGrad>RunLoop", MakeKernel<RunLoopOp>, {}, {}, KernelSpec::kCpu}};
}

}  // namespace tensor_array_grad
