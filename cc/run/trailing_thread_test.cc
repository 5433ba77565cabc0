#include "cc/run/trailing_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/run/interpreter.h"
#include "cc/testing/loop_runner.h"
#include "cc/testing/matchers.h"
#include "cc/testing/probe_kernels.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Closure = std::function<void()>;

// Runs each closure on a thread of its own.
class Threads {
 public:
  void Run(Closure closure) { threads_.emplace_back(std::move(closure)); }
  ~Threads() {
    for (std::thread& thread : threads_) thread.join();
  }
  size_t size() const { return threads_.size(); }

 private:
  std::vector<std::thread> threads_;
};

// The loop
//
//     for i in range(limit):
//         sum = sum + (h + 1)         trailing part: the nodes `more` and `summed`
//         h = h + 1                   main part: the node `h_plus`
//
// in which the trailing part runs behind the main part from the first iteration on. `more` and
// `h_plus` are AddOneInPlace nodes that read the same h.
class TrailingThreadTest : public testing::Test, protected FramesUnderTest {
 protected:
  TrailingThreadTest() {
    TheSeen() = Seen();
    SetTrailingThreadAfter(0);
    for (const char* name : {"start", "limit", "step", "n0"}) Placeholder(name, DT_INT32);
    for (const char* name : {"h0", "sum0"}) Placeholder(name, DT_FLOAT);
    AddCounter("i", "start", "limit", "step");
    AddVariableOf("i", "h", DT_FLOAT, "h0", "h_plus");
    Add("h_plus", "LoopTest>AddOneInPlace", {"h_switch:1"});
    AddVariableOf("i", "sum", DT_FLOAT, "sum0", "summed");
    AddBinary("summed", "AddV2", DT_FLOAT, {"sum_switch:1", "more"});
    Add("more", "LoopTest>AddOneInPlace", {"h_switch:1"});
  }
  ~TrailingThreadTest() override {
    SetTrailingThreadAfter(-1);
    SetHandBackAfter(-1);
  }

  // Adds a trailing variable, the sum of `op`(i).
  tensorflow::NodeDef& AddSumOf(const std::string& op) {
    AddVariableOf("i", "n", DT_INT32, "n0", "n_plus");
    AddBinary("n_plus", "AddV2", DT_INT32, {"n_switch:1", "checked"});
    return Add("checked", op, {"i_switch:1"});
  }

  // Runs `limit` iterations from h = [0, 10] and sum = [0, 0].
  absl::Status Run(int32_t limit) {
    if (!prepared_) TF_RETURN_IF_ERROR(runner_.PrepareLoop(*this, "i"));
    prepared_ = true;
    values_ = {{"start", Tensor(0)}, {"limit", Tensor(limit)}, {"step", Tensor(1)},
               {"n0", Tensor(0)},    {"h0", Vec({0, 10})},     {"sum0", Vec({0, 0})}};
    return runner_.Run(&values_);
  }

  void ExpectResults(int32_t iterations) {
    const auto n = static_cast<float>(iterations);
    const float sum = n * (n + 1) / 2;  // of h + 1
    EXPECT_THAT(values_["h0"], TensorEq(Vec({n, n + 10}))) << iterations;
    EXPECT_THAT(values_["sum0"], TensorEq(Vec({sum, sum + 10 * n}))) << iterations;
    EXPECT_EQ(values_["start"].scalar<int32_t>()(), iterations);
  }

  std::map<std::string, Tensor> values_;
  Threads threads_;
  LoopRunner runner_;

 private:
  bool prepared_ = false;
};

TEST_F(TrailingThreadTest, SumIsTheSameForEveryNumberOfIterations) {
  runner_.UsePool([this](Closure closure) { threads_.Run(std::move(closure)); });
  for (int32_t limit = 0; limit < 30; ++limit) {
    ASSERT_OK(Run(limit));
    ExpectResults(limit);
  }
  ASSERT_NE(runner_.executable().trailing, nullptr);
  EXPECT_GT(threads_.size(), 0);
}

TEST_F(TrailingThreadTest, LongLoopEndsWithAllSums) {
  runner_.UsePool([this](Closure closure) { threads_.Run(std::move(closure)); });
  ASSERT_OK(Run(2000));
  ExpectResults(2000);
}

TEST_F(TrailingThreadTest, MainThreadRunsTheTrailingPartIfThereIsNoPool) {
  ASSERT_OK(Run(20));
  ExpectResults(20);
}

TEST_F(TrailingThreadTest, MainThreadRunsTheTrailingPartIfAllThreadsOfThePoolAreBusy) {
  std::vector<Closure> waiting;
  runner_.UsePool([&waiting](Closure closure) { waiting.push_back(std::move(closure)); });
  ASSERT_OK(Run(20));
  ExpectResults(20);
  ASSERT_EQ(waiting.size(), 1) << "the loop asks for one thread at a time";
  waiting.front()();  // too late: it finds nothing to do
  ExpectResults(20);
}

TEST_F(TrailingThreadTest, AThreadIsAskedForAtOnceUnlessTheLastIterationWasLight) {
  int asked = 0;
  runner_.UsePool([&asked](const Closure& closure) {
    ++asked;
    closure();
  });
  ASSERT_OK(Run(1));
  ExpectResults(1);
  EXPECT_EQ(asked, 1);
  ASSERT_OK(Run(1000));
  ExpectResults(1000);
  EXPECT_GE(asked, 250);
  EXPECT_LT(asked, 600) << "a few iterations may be slow, but not most";
}

TEST_F(TrailingThreadTest, OneThreadRunsTheFirstIterations) {
  SetTrailingThreadAfter(3);
  ASSERT_OK(Run(2));
  ExpectResults(2);
  ASSERT_OK(Run(3));
  ExpectResults(3);
  ASSERT_OK(Run(5));
  ExpectResults(5);
}

TEST_F(TrailingThreadTest, HandedBackLoopHasTheSumsOfItsIterations) {
  runner_.UsePool([this](Closure closure) { threads_.Run(std::move(closure)); });
  for (int after : {0, 1, 7, 11}) {
    SetHandBackAfter(after);
    ASSERT_OK(Run(20));
    EXPECT_TRUE(runner_.handed_back());
    ExpectResults(after);
  }
}

TEST_F(TrailingThreadTest, MainPartDoesNotOverwriteAValueThatTheTrailingPartReads) {
  std::vector<Closure> waiting;  // keeps the trailing part as far behind as it may be
  runner_.UsePool([&waiting](Closure closure) { waiting.push_back(std::move(closure)); });
  ASSERT_OK(Run(8));
  ExpectResults(8);
  EXPECT_EQ(TheSeen().in_place["h_plus"], 0);
}

TEST_F(TrailingThreadTest, ErrorOfTheTrailingPartEndsTheRun) {
  Set(AddSumOf("LoopTest>FailAt"), "at", 5);
  for (bool with_pool : {false, true}) {
    if (with_pool) {
      runner_.UsePool([this](Closure closure) { threads_.Run(std::move(closure)); });
    }
    const absl::Status status = Run(1000);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("x is 5"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("{{node checked}}"));
    EXPECT_LE(runner_.iterations(), 5 + 9) << "the queue has no room for more";
  }
  ASSERT_OK(Run(4));  // the next run is not affected
  ExpectResults(4);
}

TEST_F(TrailingThreadTest, ParallelIterationsLimitHowFarTheTrailingPartIsBehind) {
  Set(Named("i_enter"), "parallel_iterations", 2);
  Set(AddSumOf("LoopTest>FailAt"), "at", 5);
  EXPECT_THAT(std::string(Run(1000).message()), HasSubstr("x is 5"));
  EXPECT_LE(runner_.iterations(), 5 + 2) << "the queue has room for one iteration";
}

TEST_F(TrailingThreadTest, ErrorOfTheTrailingPartIsReportedAlsoIfTheLoopHasEnded) {
  Set(AddSumOf("LoopTest>FailAt"), "at", 5);
  EXPECT_THAT(std::string(Run(6).message()), HasSubstr("x is 5"));
}

TEST_F(TrailingThreadTest, TrailingPartSeesTheIterationsInOrder) {
  AddSumOf("LoopTest>Probe");
  runner_.UsePool([this](Closure closure) { threads_.Run(std::move(closure)); });
  ASSERT_OK(Run(5));
  EXPECT_EQ(values_["n0"].scalar<int32_t>()(), 10);
  EXPECT_THAT(TheSeen().numbers["checked"], ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(TrailingThreadTest, ExceptionOfTheTrailingPartReachesTheCaller) {
  AddSumOf("LoopTest>Probe");
  runner_.UsePool([this](Closure closure) { threads_.Run(std::move(closure)); });
  TheSeen().at_probe = [] { throw std::bad_alloc(); };
  EXPECT_THROW((void)Run(1000), std::bad_alloc);
  TheSeen().at_probe = nullptr;
  ASSERT_OK(Run(12));
  ExpectResults(12);
}

TEST_F(TrailingThreadTest, ErrorOfTheMainPartEndsTheRun) {
  // No variable needs the probe, so that it and what it reads are in the main part.
  Add("probe", "LoopTest>Probe", {"checked"});
  Set(Add("checked", "LoopTest>FailAt", {"i_switch:1"}), "at", 5);
  std::vector<Closure> waiting;
  runner_.UsePool([&waiting](Closure closure) { waiting.push_back(std::move(closure)); });
  EXPECT_THAT(std::string(Run(1000).message()), HasSubstr("x is 5"));
  for (const Closure& closure : waiting) closure();  // too late: there is nothing to do
}

TEST_F(TrailingThreadTest, ErrorOfAnEarlierTrailingPartComesBeforeThatOfTheMainPart) {
  Add("probe", "LoopTest>Probe", {"in_main"});
  Set(Add("in_main", "LoopTest>FailAt", {"i_switch:1"}), "at", 5);
  Set(AddSumOf("LoopTest>FailAt"), "at", 3);
  EXPECT_THAT(std::string(Run(1000).message()), HasSubstr("x is 3"));
}

TEST_F(TrailingThreadTest, LoopWithTwoParallelIterationsHasTheSameSums) {
  Set(Named("i_enter"), "parallel_iterations", 2);
  AddSumOf("LoopTest>Probe");
  std::vector<Closure> waiting;
  runner_.UsePool([&waiting](Closure closure) { waiting.push_back(std::move(closure)); });
  ASSERT_OK(Run(1));
  ExpectResults(1);
  ASSERT_OK(Run(7));
  ExpectResults(7);
  EXPECT_THAT(TheSeen().numbers["checked"], ElementsAre(0, 0, 1, 2, 3, 4, 5, 6));
}

TEST_F(TrailingThreadTest, LoopWhoseSumsDependOnSharedBuffersIsNotDivided) {
  Placeholder("w0", DT_FLOAT);
  AddVariableOf("i", "w", DT_FLOAT, "w0", "w_plus");
  Set(AddUnary("w_plus", "AddN", DT_FLOAT, {"h_switch:1", "w_switch:1", "h_switch:1"}), "N", 3);
  ASSERT_OK(runner_.PrepareLoop(*this, "i"));
  EXPECT_EQ(runner_.executable().trailing, nullptr);
}

TEST_F(TrailingThreadTest, ValueForWhichANodeWaitsIsNotTrailing) {
  Add("waits", "LoopTest>Probe", {"i_switch:1", "^more_copy"});
  AddUnary("more_copy", "Identity", DT_FLOAT, {"more"});
  ASSERT_OK(runner_.PrepareLoop(*this, "i"));
  ASSERT_NE(runner_.executable().trailing, nullptr);
  EXPECT_EQ(runner_.executable().trailing->body.size(), 1) << "only the sum";
}

TEST_F(TrailingThreadTest, CancelledLoopEnds) {
  runner_.UsePool([this](Closure closure) { threads_.Run(std::move(closure)); });
  AddSumOf("LoopTest>Probe");
  TheSeen().at_probe = [this] { runner_.cancellation().StartCancel(); };
  EXPECT_EQ(Run(1'000'000'000).code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tensor_array_grad
