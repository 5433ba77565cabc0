#include "cc/run/function_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cc/testing/loop_runner.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using tensorflow::AsyncOpKernel;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Work = std::function<void()>;
using Pool = std::function<void(Work)>;
using Function = std::function<void(Pool pool, Work done)>;

Function& TheFunction() {
  static auto* const function = new Function;
  return *function;
}

REGISTER_OP("FunctionCallTest>Call");

// Runs TheFunction with the pool of its context.
class Call : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(OpKernelContext* ctx, DoneCallback done) override {
    TheFunction()(*ctx->runner(), std::move(done));
  }
};

REGISTER_KERNEL_BUILDER(Name("FunctionCallTest>Call").Device(tensorflow::DEVICE_CPU), Call);

// The executor's pool keeps the work that it gets.
class FunctionCallTest : public testing::Test {
 protected:
  FunctionCallTest() {
    tensorflow::NodeDef def;
    def.set_name("call");
    def.set_op("FunctionCallTest>Call");
    absl::Status status;
    kernel_ = tensorflow::CreateOpKernel(tensorflow::DeviceType(tensorflow::DEVICE_CPU), &cpu_,
                                         tensorflow::cpu_allocator(), def, 0, &status);
    EXPECT_TRUE(status.ok()) << status;
    params_.device = &cpu_;
    params_.op_kernel = kernel_.get();
    params_.runner = &pool_;
  }

  void Run(Function function) {
    TheFunction() = std::move(function);
    OpKernelContext ctx(&params_, 0);
    call_.Call(kernel_->AsAsync(), &params_, &ctx);
    EXPECT_EQ(params_.runner, &pool_);
  }

  // A call that takes longer than kLongNs.
  void RunLong() {
    Run([](const Pool& pool, Work done) {
      absl::SleepFor(absl::Nanoseconds(2 * FunctionCall::kLongNs));
      pool(std::move(done));
    });
  }

  CpuUnderTest cpu_;
  std::unique_ptr<tensorflow::OpKernel> kernel_;
  OpKernelContext::Params params_;
  std::vector<Work> in_pool_;
  Pool pool_ = [this](Work work) { in_pool_.push_back(std::move(work)); };
  FunctionCall call_{/*has_loop=*/false, /*function=*/nullptr};
};

TEST_F(FunctionCallTest, TheCallingThreadRunsTheWorkInOrder) {
  std::vector<int> order;
  const auto caller = std::this_thread::get_id();
  Run([&](const Pool& pool, const Work& done) {
    pool([&, pool, done] {
      order.push_back(1);
      pool([&, done] {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        order.push_back(3);
        done();
      });
    });
    pool([&] { order.push_back(2); });
  });
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_THAT(in_pool_, IsEmpty());
}

TEST_F(FunctionCallTest, WithoutAPoolTheCallingThreadRunsTheWork) {
  params_.runner = nullptr;
  TheFunction() = [](const Pool& pool, Work done) { pool(std::move(done)); };
  OpKernelContext ctx(&params_, 0);
  call_.Call(kernel_->AsAsync(), &params_, &ctx);
}

TEST_F(FunctionCallTest, AnotherThreadMayEndTheCall) {
  std::thread thread;
  Run([&](const Pool&, const Work& done) {
    thread = std::thread([done] {
      absl::SleepFor(absl::Milliseconds(2));
      done();
    });
  });
  thread.join();
}

TEST_F(FunctionCallTest, AfterALongCallThePoolIsAskedForHelp) {
  RunLong();
  EXPECT_THAT(in_pool_, IsEmpty());
  RunLong();
  EXPECT_THAT(in_pool_, SizeIs(1));
  in_pool_.back()();  // finds no work
  Run([](const Pool& pool, Work done) { pool(std::move(done)); });
  EXPECT_THAT(in_pool_, SizeIs(2));
  Run([](const Pool& pool, Work done) { pool(std::move(done)); });
  EXPECT_THAT(in_pool_, SizeIs(2));
}

TEST_F(FunctionCallTest, AFunctionWithALoopHasHelpFromTheFirstCallOn) {
  FunctionCall call(/*has_loop=*/true, /*function=*/nullptr);
  for (size_t calls = 1; calls <= 2; ++calls) {
    TheFunction() = [](const Pool& pool, Work done) { pool(std::move(done)); };
    OpKernelContext ctx(&params_, 0);
    call.Call(kernel_->AsAsync(), &params_, &ctx);
    EXPECT_THAT(in_pool_, SizeIs(calls));
  }
}

TEST_F(FunctionCallTest, AHelperRunsWorkWhileTheCallingThreadIsBusy) {
  std::vector<std::thread> helpers;
  pool_ = [&](Work work) { helpers.emplace_back(std::move(work)); };
  RunLong();
  std::atomic<bool> helped{false};
  Run([&](const Pool& pool, const Work& done) {
    pool([&, done] {
      helped = true;
      done();
    });
    while (!helped) absl::SleepFor(absl::Microseconds(10));
  });
  for (std::thread& helper : helpers) helper.join();
}

TEST_F(FunctionCallTest, WorkThatIsLeftGoesToTheExecutorsPool) {
  Pool kept;
  Run([&](const Pool& pool, const Work& done) {
    kept = pool;
    done();
    pool([] {});
  });
  EXPECT_THAT(in_pool_, SizeIs(1));
  kept([] {});
  EXPECT_THAT(in_pool_, SizeIs(2));
}

}  // namespace
}  // namespace tensor_array_grad
