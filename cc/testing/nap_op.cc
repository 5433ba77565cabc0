// The op Nap outputs its input after its kernel has slept for `us` microseconds. To the executor it
// is a kernel that takes that long, but it needs no core, so that a machine with two cores can show
// how a loop would behave on sixteen (benchmarks/cores.py). A nap takes 15 us longer than asked
// for, the time to wake a thread, and up to 200 us longer where sixteen threads wake on two cores.
// Naps below 50 us say little.

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include <cstdint>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace tensor_array_grad {
namespace {

constexpr unsigned long kSlackNs = 1000;  // of wake-up times; 50 us by default

// Sleeps until `us` microseconds from now, also if a signal arrives.
void Sleep(int64_t us) {
  thread_local const int slack = prctl(PR_SET_TIMERSLACK, kSlackNs);
  (void)slack;
  timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  const int64_t ns = end.tv_nsec + us * 1000;
  end.tv_sec += ns / 1'000'000'000;
  end.tv_nsec = ns % 1'000'000'000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR) {
  }
}

class NapOp : public tensorflow::OpKernel {
 public:
  explicit NapOp(tensorflow::OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("us", &us_));
  }

  void Compute(tensorflow::OpKernelContext* ctx) override {
    Sleep(us_);
    ctx->set_output(0, ctx->input(0));
  }

 private:
  int64_t us_;
};

// Without state, so it is a kernel as any other to the loops of this library.
REGISTER_OP("Nap")
    .Input("x: float")
    .Output("y: float")
    .Attr("us: int >= 0")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      c->set_output(0, c->input(0));
      return absl::OkStatus();
    });

REGISTER_KERNEL_BUILDER(Name("Nap").Device(tensorflow::DEVICE_CPU), NapOp);

}  // namespace
}  // namespace tensor_array_grad
