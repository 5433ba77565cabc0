// The kernel of RunLoop. The constructor prepares the loop. Each call runs the loop, or passes the
// loop variables on to the stock loop.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "cc/base/counters.h"
#include "cc/compile/loop_pass.h"
#include "cc/kernels/kernel_names.h"
#include "cc/kernels/registration.h"
#include "cc/run/executable.h"
#include "cc/run/interpreter.h"
#include "cc/run/pooled_device.h"
#include "tensorflow/core/common_runtime/step_stats_collector.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/platform/cpu_info.h"
#include "tensorflow/core/profiler/lib/traceme.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tensor_array_grad {
namespace {

Counter prepared("loops.prepared");
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
class RunLoopOp : public tensorflow::OpKernel {
 public:
  explicit RunLoopOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    std::string frame;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("frame", &frame));
    absl::StatusOr<std::unique_ptr<Executable>> made = Prepare(frame, ctx);
    if (made.ok()) {
      loop_ = *std::move(made);
      prepared.Add();
    } else {
      CountRejected(name(), made.status());
    }
  }

  void Compute(OpKernelContext* ctx) override {
    if (loop_ == nullptr) return PassOn(ctx);
    if (!loop_->is_seeded && IsTraced(ctx)) {
      passed.Add();
      return PassOn(ctx);
    }
    const Choice first = loop_->choices.Next();
    if (first == Choice::kExecutor) {
      GiveBackFreeBuffers(loop_->pooled_device.get());
      return PassOn(ctx);
    }
    Interpreter interpreter(*loop_, ctx, Threads(ctx), first);
    for (int i = 0; i < ctx->num_inputs(); ++i) interpreter.TakeArgument(i);
    const absl::Status status = interpreter.Run();
    runs.Add();
    iterations.Add(interpreter.iterations());
    OP_REQUIRES_OK(ctx, status);
    if (interpreter.handed_back()) {
      handed_back.Add();
      GiveBackFreeBuffers(loop_->pooled_device.get());
    }
    if (interpreter.had_trailing_thread()) trailing_threads.Add();
    const auto choice = interpreter.measured_choice();
    if (choice && !loop_->is_seeded) loop_->choices.Record(*choice);
    for (int i = 0; i < ctx->num_outputs(); ++i) ctx->set_output(i, interpreter.Result(i));
  }

 private:
  static void PassOn(OpKernelContext* ctx) {
    for (int i = 0; i < ctx->num_outputs(); ++i) ctx->set_output(i, ctx->input(i));
  }

  std::unique_ptr<Executable> loop_;  // null if the loop cannot run in one kernel
};

}  // namespace

KernelTable LoopKernels() {
  return {{"TensorArrayGrad>RunLoop", MakeKernel<RunLoopOp>, {}, {}, KernelSpec::kCpu}};
}

}  // namespace tensor_array_grad
