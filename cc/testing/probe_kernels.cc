// Kernels for tests of the interpreter, which do not link TensorFlow's kernels.

#include "cc/testing/probe_kernels.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace tensor_array_grad {

Seen& TheSeen() {
  static auto* const seen = new Seen;
  return *seen;
}

namespace {

using tensorflow::AsyncOpKernel;
using tensorflow::OpKernel;
using tensorflow::OpKernelContext;

REGISTER_OP("LoopTest>Probe").Input("x: int32").Output("y: int32");
REGISTER_OP("LoopTest>AddOneInPlace").Input("x: float").Output("y: float");
REGISTER_OP("LoopTest>FailAt").Input("x: int32").Output("y: int32").Attr("at: int");
REGISTER_OP("LoopTest>Forget").Input("x: int32").Output("y: int32");
REGISTER_OP("LoopTest>Later").Input("x: int32").Output("y: int32");
REGISTER_OP("LoopTest>WithoutKernel").Input("x: int32").Output("y: int32");
REGISTER_OP("LoopTest>Pair").Input("x: int32").Output("vector: int32").Output("flags: bool");

// Records a number and passes it on.
class Probe : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* ctx) override {
    TheSeen().numbers[name()].push_back(ctx->input(0).scalar<int32_t>()());
    if (TheSeen().at_probe) TheSeen().at_probe();
    ctx->set_output(0, ctx->input(0));
  }
};

// Adds one, in the input's buffer if nothing else refers to it.
class AddOneInPlace : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* ctx) override {
    const Tensor& input = ctx->input(0);
    const float* const from = input.flat<float>().data();
    const int64_t n = input.NumElements();
    Tensor* output = nullptr;
    int forwarded = -1;
    OP_REQUIRES_OK(
        ctx, ctx->forward_input_or_allocate_output({0}, 0, input.shape(), &output, &forwarded));
    TheSeen().in_place[name()] += forwarded == 0;
    float* const to = output->flat<float>().data();
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] + 1;
  }
};

class FailAt : public OpKernel {
 public:
  explicit FailAt(tensorflow::OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("at", &at_));
  }
  void Compute(OpKernelContext* ctx) override {
    const int32_t x = ctx->input(0).scalar<int32_t>()();
    OP_REQUIRES(ctx, x != at_, absl::InvalidArgumentError(absl::StrCat("x is ", x)));
    ctx->set_output(0, ctx->input(0));
  }

 private:
  int at_;
};

// Sets no output.
class Forget : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext*) override {}
};

class Later : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(OpKernelContext*, DoneCallback done) override { done(); }
};

// A lock as a variant. Copies share it. It exists until the last copy is destroyed.
struct SharedLock {
  std::string TypeName() const { return "LoopTest>SharedLock"; }
  std::string DebugString() const { return TypeName(); }
  void Encode(tensorflow::VariantTensorData*) const {}
  bool Decode(const tensorflow::VariantTensorData&) { return false; }

  std::shared_ptr<int> count{&++TheSeen().locks, [](int* locks) { --*locks; }};
};

// Outputs a lock when Seen::at_lock says so.
class Lock : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(OpKernelContext* ctx, DoneCallback done) override {
    TheSeen().at_lock([ctx, done] {
      Tensor lock(DT_VARIANT, {});
      lock.scalar<tensorflow::Variant>()() = SharedLock();
      ctx->set_output(0, std::move(lock));
      done();
    });
  }
};

class ConsumeLock : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext*) override { TheSeen().numbers[name()].push_back(TheSeen().locks); }
};

// A vector of two numbers, and a vector of two bools.
class Pair : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* ctx) override {
    ctx->set_output(0, Tensor(tensorflow::DT_INT32, {2}));
    ctx->set_output(1, Tensor(tensorflow::DT_BOOL, {2}));
  }
};

// A kernel that must not be called, for stock ops that the interpreter computes as small ops if the
// operands are small and their shapes fit.
class NotReached : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* ctx) override {
    ctx->SetStatus(absl::InternalError("the kernel was called"));
  }
};

#define REGISTER_CPU(op, Kernel) \
  REGISTER_KERNEL_BUILDER(Name(op).Device(tensorflow::DEVICE_CPU), Kernel)
REGISTER_CPU("LoopTest>Probe", Probe);
REGISTER_CPU("LoopTest>AddOneInPlace", AddOneInPlace);
REGISTER_CPU("LoopTest>FailAt", FailAt);
REGISTER_CPU("LoopTest>Forget", Forget);
REGISTER_CPU("LoopTest>Later", Later);
REGISTER_CPU("StackPushV2", Later);
REGISTER_CPU("StackPopV2", Later);
REGISTER_CPU("LoopTest>Pair", Pair);
REGISTER_CPU("MutexLock", Lock);
REGISTER_CPU("ConsumeMutexLock", ConsumeLock);
REGISTER_CPU("AddN", NotReached);
REGISTER_CPU("AddV2", NotReached);
REGISTER_CPU("Less", NotReached);
#undef REGISTER_CPU

}  // namespace
}  // namespace tensor_array_grad
