#include "cc/run/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/block_pool.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/loop_runner.h"
#include "cc/testing/matchers.h"
#include "cc/testing/probe_kernels.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Tensor Scalar(int32_t number) { return Tensor(number); }

// The loop `while i < limit: i = i + step`, where i begins as `start`. Tests add to its body.
class InterpreterTest : public testing::Test, protected FramesUnderTest {
 protected:
  InterpreterTest() {
    TheSeen() = Seen();
    for (const char* name : {"start", "limit", "step", "x0", "y0", "five"}) {
      Placeholder(name, DT_INT32);
    }
    Placeholder("v0", DT_FLOAT);
    Placeholder("w0", DT_FLOAT);
    AddCounter("i", "start", "limit", "step");
    Feed("start", Scalar(0));
    Feed("limit", Scalar(10));
    Feed("step", Scalar(1));
  }
  ~InterpreterTest() override { SetHandBackAfter(-1); }

  void Feed(const std::string& name, Tensor value) { values_[name] = std::move(value); }
  int32_t NumberOf(const std::string& name) { return values_[name].scalar<int32_t>()(); }

  absl::Status Run() {
    if (!prepared_) {
      TF_RETURN_IF_ERROR(runner_.PrepareLoop(*this, "i"));
      prepared_ = true;
    }
    return runner_.Run(&values_);
  }

  void AddProbe(const std::string& name, const std::string& input) {
    Add(name, "LoopTest>Probe", {input});
  }
  std::vector<int32_t> Probed(const std::string& name) { return TheSeen().numbers[name]; }

  // Adds a constant c of the loop, 5, and the node `below`: i < c.
  void AddIsBelowFive() {
    AddConstantOf("i", "c", DT_INT32, "five");
    AddBinary("below", "Less", DT_INT32, {"i_switch:1", "c"});
    Feed("five", Scalar(5));
  }

  std::map<std::string, Tensor> values_;  // inputs of the loop, then the results of its variables
  LoopRunner runner_;

 private:
  bool prepared_ = false;
};

TEST_F(InterpreterTest, RunsUntilTheConditionIsFalse) {
  ASSERT_OK(Run());
  EXPECT_EQ(NumberOf("start"), 10);
  EXPECT_EQ(runner_.iterations(), 10);
  EXPECT_FALSE(runner_.handed_back());
}

TEST_F(InterpreterTest, ConditionThatIsFalseAtOnceLeavesTheVariablesAsTheyAre) {
  Feed("start", Scalar(12));
  ASSERT_OK(Run());
  EXPECT_EQ(NumberOf("start"), 12);
  EXPECT_EQ(runner_.iterations(), 0);
  EXPECT_FALSE(runner_.handed_back());
}

TEST_F(InterpreterTest, ExecutableMayRunSeveralTimes) {
  for (int32_t limit : {3, 0, 7}) {
    Feed("start", Scalar(0));
    Feed("limit", Scalar(limit));
    ASSERT_OK(Run());
    EXPECT_EQ(NumberOf("start"), limit);
  }
}

TEST_F(InterpreterTest, KernelsSeeTheValuesOfEachIteration) {
  AddProbe("probe", "i_switch:1");
  AddProbe("probe_next", "i_plus");
  Feed("limit", Scalar(3));
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("probe"), ElementsAre(0, 1, 2));
  EXPECT_THAT(Probed("probe_next"), ElementsAre(1, 2, 3));
}

TEST_F(InterpreterTest, VariableWithoutReaderKeepsItsValue) {
  Set(AddUnary("lonely", "Enter", DT_INT32, {"x0"}), "frame_name", "i");
  Feed("x0", Scalar(77));
  ASSERT_OK(Run());
  EXPECT_EQ(NumberOf("x0"), 77);
}

TEST_F(InterpreterTest, VariablesAreSwapped) {
  AddVariableOf("i", "x", DT_INT32, "x0", "y_switch:1");
  AddVariableOf("i", "y", DT_INT32, "y0", "x_switch:1");
  Feed("x0", Scalar(1));
  Feed("y0", Scalar(2));
  Feed("limit", Scalar(3));
  ASSERT_OK(Run());
  EXPECT_EQ(NumberOf("x0"), 2);
  EXPECT_EQ(NumberOf("y0"), 1);
}

// ---- buffers

TEST_F(InterpreterTest, VariableIsUpdatedInPlaceFromTheFirstIterationOn) {
  AddVariableOf("i", "v", DT_FLOAT, "v0", "added");
  Add("added", "LoopTest>AddOneInPlace", {"v_switch:1"});
  Feed("v0", Vec({1, 2, 3}));
  const void* const buffer = values_["v0"].data();
  ASSERT_OK(Run());
  EXPECT_EQ(TheSeen().in_place["added"], 10);
  EXPECT_EQ(values_["v0"].data(), buffer);
  EXPECT_THAT(values_["v0"], TensorEq(Vec({11, 12, 13})));
}

TEST_F(InterpreterTest, KernelsAllocateSmallOutputsFromThePool) {
  AddVariableOf("i", "v", DT_FLOAT, "v0", "added");
  Add("added", "LoopTest>AddOneInPlace", {"v_switch:1"});
  const Tensor kept = Vec({1, 2, 3});  // so that the first iteration needs a new tensor
  Feed("v0", kept);
  ASSERT_OK(Run());
  EXPECT_EQ(IsPooled(values_["v0"].data()), kPools);
}

TEST_F(InterpreterTest, VariableWhoseBufferAnotherTensorSharesIsCopiedOnce) {
  AddVariableOf("i", "v", DT_FLOAT, "v0", "added");
  Add("added", "LoopTest>AddOneInPlace", {"v_switch:1"});
  const Tensor kept = Vec({1, 2, 3});
  Feed("v0", kept);
  ASSERT_OK(Run());
  EXPECT_EQ(TheSeen().in_place["added"], 9);
  EXPECT_THAT(kept, TensorEq(Vec({1, 2, 3})));
  EXPECT_THAT(values_["v0"], TensorEq(Vec({11, 12, 13})));
}

TEST_F(InterpreterTest, ValueThatIsReadAgainIsNotWritten) {
  AddVariableOf("i", "v", DT_FLOAT, "v0", "later");
  Add("first", "LoopTest>AddOneInPlace", {"v_switch:1"});
  Add("later", "LoopTest>AddOneInPlace", {"v_switch:1", "^first"});
  Feed("v0", Vec({1}));
  ASSERT_OK(Run());
  EXPECT_EQ(TheSeen().in_place["first"], 0);
  EXPECT_EQ(TheSeen().in_place["later"], 10);
  EXPECT_THAT(values_["v0"], TensorEq(Vec({11})));
}

TEST_F(InterpreterTest, ConstantsAreNeverWritten) {
  AddConstantOf("i", "w", DT_FLOAT, "w0");
  AddValue("constant", Vec({5}), {"^i_switch"});
  Add("of_w", "LoopTest>AddOneInPlace", {"w"});
  Add("of_constant", "LoopTest>AddOneInPlace", {"constant"});
  AddVariableOf("i", "v", DT_FLOAT, "v0", "of_constant");
  Feed("v0", Vec({0}));
  Feed("w0", Vec({7}));
  ASSERT_OK(Run());
  EXPECT_EQ(TheSeen().in_place["of_w"], 0);
  EXPECT_EQ(TheSeen().in_place["of_constant"], 0);
  EXPECT_THAT(values_["w0"], TensorEq(Vec({7})));
  EXPECT_THAT(values_["v0"], TensorEq(Vec({6})));
}

TEST_F(InterpreterTest, InvariantVariableIsNeverWritten) {
  AddVariableOf("i", "w", DT_FLOAT, "w0", "w_switch:1");
  Add("of_w", "LoopTest>AddOneInPlace", {"w_switch:1"});
  Feed("w0", Vec({7}));
  ASSERT_OK(Run());
  EXPECT_EQ(TheSeen().in_place["of_w"], 0);
  EXPECT_THAT(values_["w0"], TensorEq(Vec({7})));
}

TEST_F(InterpreterTest, VariableIsUpdatedInPlaceInOneBranchAndPassedOnInTheOther) {
  AddIsBelowFive();
  AddVariableOf("i", "v", DT_FLOAT, "v0", "merged");
  AddUnary("s", "Switch", DT_FLOAT, {"v_switch:1", "below"});
  Add("added", "LoopTest>AddOneInPlace", {"s:1"});
  AddMerge("merged", DT_FLOAT, {"s", "added"});
  Feed("v0", Vec({1}));
  const void* const buffer = values_["v0"].data();
  ASSERT_OK(Run());
  EXPECT_EQ(TheSeen().in_place["added"], 5);
  EXPECT_EQ(values_["v0"].data(), buffer);
  EXPECT_THAT(values_["v0"], TensorEq(Vec({6})));
}

// ---- locks

// Adds a critical section `name` to the body, which gives i to the Probe `name`_probe.
class LockTest : public InterpreterTest {
 protected:
  LockTest() {
    Placeholder("mutex0", tensorflow::DT_RESOURCE);
    AddConstantOf("i", "mutex", tensorflow::DT_RESOURCE, "mutex0");
    Feed("mutex0", Tensor(tensorflow::DT_RESOURCE, {}));
    TheSeen().at_lock = [](const std::function<void()>& give) { give(); };
  }

  void AddSection(const std::string& name, const std::string& i = "i_switch:1") {
    Add(name + "_lock", "MutexLock", {"mutex", "^i_switch"});
    Add(name + "_probe", "LoopTest>Probe", {i, "^" + name + "_lock"});
    Add(name + "_end", "ConsumeMutexLock", {name + "_lock", "^" + name + "_probe"});
  }
};

TEST_F(LockTest, EachIterationTakesTheLockAndGivesItUp) {
  AddSection("s");
  Feed("limit", Scalar(3));
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("s_probe"), ElementsAre(0, 1, 2));
  EXPECT_THAT(Probed("s_end"), ElementsAre(1, 1, 1));
  EXPECT_EQ(TheSeen().locks, 0);
  EXPECT_EQ(runner_.waits(), 3);
}

TEST_F(LockTest, TheRunGoesOnAfterTheInstructionWhenAnotherThreadGivesTheLock) {
  AddProbe("before", "i_switch:1");
  AddSection("s");
  AddProbe("after", "i_plus");
  Feed("limit", Scalar(4));
  std::vector<std::thread> givers;
  TheSeen().at_lock = [&](std::function<void()> give) { givers.emplace_back(std::move(give)); };
  const absl::Status status = Run();
  for (std::thread& giver : givers) giver.join();
  ASSERT_OK(status);
  EXPECT_EQ(runner_.waits(), 4);
  EXPECT_THAT(Probed("before"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Probed("s_probe"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Probed("after"), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(NumberOf("start"), 4);
}

TEST_F(LockTest, AnErrorInTheSectionGivesTheLockUp) {
  AddSection("s");
  Set(Add("fails", "LoopTest>FailAt", {"i_switch:1", "^s_probe"}), "at", 2);
  Add("late_end", "LoopTest>Probe", {"fails"});
  EXPECT_THAT(Run().message(), HasSubstr("x is 2"));
  EXPECT_EQ(TheSeen().locks, 0);
}

TEST_F(LockTest, ALockInABranchIsTakenWhereTheBranchIs) {
  AddIsBelowFive();
  AddUnary("side", "Switch", DT_INT32, {"i_switch:1", "below"});
  AddUnary("pivot", "Identity", DT_INT32, {"side:1"});
  Add("s_lock", "MutexLock", {"mutex", "^pivot"});
  Add("s_probe", "LoopTest>Probe", {"side:1", "^s_lock"});
  Add("s_end", "ConsumeMutexLock", {"s_lock", "^s_probe"});
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("s_probe"), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(runner_.waits(), 5);
  EXPECT_EQ(TheSeen().locks, 0);
}

TEST_F(LockTest, SectionsInTurnAreRun) {
  AddSection("s");
  Add("t_lock", "MutexLock", {"mutex", "^s_end"});
  Add("t_end", "ConsumeMutexLock", {"t_lock"});
  ASSERT_OK(Run());
  EXPECT_EQ(runner_.waits(), 20);
  EXPECT_THAT(Probed("t_end"), testing::Each(1));
}

TEST_F(LockTest, ALoopThatMayHaveTwoLocksIsLeft) {
  AddSection("s");
  Add("t_lock", "MutexLock", {"mutex", "^s_probe"});
  Add("t_end", "ConsumeMutexLock", {"t_lock"});
  Add("both", "NoOp", {"^t_lock"});
  Add("s_again", "ConsumeMutexLock", {"s_lock", "^both"});
  EXPECT_THAT(Run().message(), testing::StartsWith("several locks at once: "));
}

TEST_F(LockTest, ALoopWithAnotherReaderOfALockIsLeft) {
  AddSection("s");
  Set(AddUnary("kept", "AddN", tensorflow::DT_VARIANT, {"s_lock"}), "N", 1);
  EXPECT_THAT(Run().message(), testing::StartsWith("several locks at once: "));
}

// ---- branches

TEST_F(InterpreterTest, OnlyTheBranchThatIsTakenRuns) {
  AddIsBelowFive();
  AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "below"});
  AddProbe("above", "s");
  AddProbe("beneath", "s:1");
  AddMerge("merged", DT_INT32, {"above", "beneath"});
  AddVariableOf("i", "x", DT_INT32, "x0", "merged");
  AddVariableOf("i", "y", DT_INT32, "y0", "merged:1");
  Feed("x0", Scalar(-1));
  Feed("y0", Scalar(-1));
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("beneath"), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Probed("above"), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_EQ(NumberOf("x0"), 9);
  EXPECT_EQ(NumberOf("y0"), 0) << "the number of the input that was live";
}

TEST_F(InterpreterTest, NodeThatWaitsForAPivotRunsWithIt) {
  AddIsBelowFive();
  AddConditional("below");
  AddValue("constant", Scalar(3), {"^pivot_t"});
  AddProbe("probe", "constant");
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("probe"), ElementsAre(3, 3, 3, 3, 3));
}

TEST_F(InterpreterTest, SwitchesOfDifferentSizeTakeTheirOwnLastOutputForAnIndexBeyondIt) {
  for (const auto& [name, outputs] : {std::pair("two", 2), std::pair("four", 4)}) {
    AddSwitchN(name, outputs, {"i_switch:1", "i_switch:1"});
    for (int i = 0; i < outputs; ++i) {
      AddProbe(absl::StrCat(name, "_", i), absl::StrCat(name, ":", i));
    }
  }
  Feed("start", Scalar(-1));
  Feed("limit", Scalar(6));
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("two_0"), ElementsAre(0));
  EXPECT_THAT(Probed("two_1"), ElementsAre(-1, 1, 2, 3, 4, 5));
  EXPECT_THAT(Probed("four_0"), ElementsAre(0));
  EXPECT_THAT(Probed("four_1"), ElementsAre(1));
  EXPECT_THAT(Probed("four_2"), ElementsAre(2));
  EXPECT_THAT(Probed("four_3"), ElementsAre(-1, 3, 4, 5));
}

TEST_F(InterpreterTest, MergeThatMayBeDeadRunsItsReadersOnlyIfItIsLive) {
  AddIsBelowFive();
  AddBinary("below_step", "Less", DT_INT32, {"i_switch:1", "i_one"});
  AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "below"});
  AddUnary("t", "Switch", DT_INT32, {"i_switch:1", "below_step"});
  AddMerge("odd", DT_INT32, {"s", "t:1"});  // i >= 5 or i < 1
  AddProbe("probe", "odd");
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("probe"), ElementsAre(0, 5, 6, 7, 8, 9));
}

// ---- inner loops

TEST_F(InterpreterTest, InnerLoopRunsInEachIteration) {
  // for i in range(4): for j in range(i, 4): probe(j)
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  AddProbe("probe", "j_switch:1");
  AddProbe("end", "j_exit");
  Feed("limit", Scalar(4));
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("probe"), ElementsAre(0, 1, 2, 3, 1, 2, 3, 2, 3, 3));
  EXPECT_THAT(Probed("end"), ElementsAre(4, 4, 4, 4));
  EXPECT_EQ(runner_.iterations(), 4);
}

TEST_F(InterpreterTest, InnerLoopUpdatesAnOuterVariableInPlace) {
  AddVariableOf("i", "v", DT_FLOAT, "v0", "w_exit");
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  AddVariableOf("j", "w", DT_FLOAT, "v_switch:1", "added");
  Add("added", "LoopTest>AddOneInPlace", {"w_switch:1"});
  Feed("v0", Vec({0}));
  Feed("limit", Scalar(4));
  ASSERT_OK(Run());
  EXPECT_THAT(values_["v0"], TensorEq(Vec({10})));
  EXPECT_EQ(TheSeen().in_place["added"], 10);
}

TEST_F(InterpreterTest, InnerLoopOfABranchRunsOnlyIfTheBranchIsTaken) {
  AddIsBelowFive();
  AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "below"});
  AddCounter("j", "s:1", "i_limit", "i_one");
  AddProbe("end", "j_exit");
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("end"), ElementsAre(10, 10, 10, 10, 10));
}

TEST_F(InterpreterTest, InnerLoopWhoseConditionSharesAPredicateWithItsBodyRuns) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  Placeholder("p0", DT_BOOL);
  AddConstantOf("i", "p", DT_BOOL, "p0");
  AddConstantOf("j", "q", DT_BOOL, "p");
  AddUnary("body_s", "Switch", DT_INT32, {"j_one", "q"});
  AddProbe("body_taken", "body_s:1");
  AddUnary("s", "Switch", DT_INT32, {"j_limit", "q"});
  AddProbe("taken", "s:1");
  AddMerge("some_limit", DT_INT32, {"s", "taken"});
  Named("j_less").set_input(1, "some_limit");
  Feed("p0", Tensor(true));
  Feed("limit", Scalar(2));
  ASSERT_OK(Run());
  EXPECT_THAT(Probed("taken"), ElementsAre(2, 2, 2, 2, 2));
  EXPECT_THAT(Probed("body_taken"), ElementsAre(1, 1, 1));
}

// ---- handing back

TEST_F(InterpreterTest, LoopThatIsHandedBackAfterAnyIterationContinuesFromThere) {
  AddVariableOf("i", "x", DT_INT32, "x0", "sum");
  AddBinary("sum", "AddV2", DT_INT32, {"x_switch:1", "i_switch:1"});
  int32_t sum = 0;
  for (int32_t k = 0; k <= 10; ++k) {
    SetHandBackAfter(k);
    Feed("start", Scalar(0));
    Feed("x0", Scalar(0));
    ASSERT_OK(Run());
    EXPECT_TRUE(runner_.handed_back());
    EXPECT_EQ(runner_.iterations(), k);
    EXPECT_EQ(NumberOf("start"), k);
    EXPECT_EQ(NumberOf("x0"), sum);
    SetHandBackAfter(-1);
    ASSERT_OK(Run());
    EXPECT_FALSE(runner_.handed_back());
    EXPECT_EQ(runner_.iterations(), 10 - k);
    EXPECT_EQ(NumberOf("x0"), 45);
    sum += k;
  }
  SetHandBackAfter(11);
  Feed("start", Scalar(0));
  ASSERT_OK(Run());
  EXPECT_FALSE(runner_.handed_back()) << "the loop ended before";
}

TEST_F(InterpreterTest, LoopThatIsAboutToGetANewExecutableIsNotHandedBack) {
  ASSERT_OK(Run());
  FramesUnderTest caller, body;
  tensorflow::NameAttrList function;
  (*function.mutable_attr())["_tensor_array_grad_instance"].set_i(1);
  Set(caller.Add("call", "PartitionedCall", {}), "f", function);
  for (const char* types : {"Tin", "Tout"})
    Set(caller.Named("call"), types, tensorflow::DataTypeVector());
  runner_.executable().called.Add(*caller.Find("call"))->Call([&] {
    OfferToCapture(*body.graph(), nullptr);
  });
  SetHandBackAfter(0);
  Feed("start", Scalar(0));
  ASSERT_OK(Run());
  EXPECT_FALSE(runner_.handed_back());
  EXPECT_EQ(runner_.iterations(), 1) << "CalledFunctions::IsOutdated";
}

// ---- errors

TEST_F(InterpreterTest, ErrorNamesTheNodeThatFailed) {
  Set(Add("fails", "LoopTest>FailAt", {"i_switch:1"}), "at", 3);
  const absl::Status status = Run();
  EXPECT_THAT(status, Fails(absl::StatusCode::kInvalidArgument, "x is 3"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node fails}}"));
  EXPECT_EQ(runner_.iterations(), 3);
}

TEST_F(InterpreterTest, ErrorOfAnInnerLoopNamesTheNodeThatFailed) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  Set(Add("fails", "LoopTest>FailAt", {"j_switch:1"}), "at", 3);
  EXPECT_THAT(Run(), Fails(absl::StatusCode::kInvalidArgument, "{{node fails}}"));
  EXPECT_EQ(runner_.iterations(), 0);
}

TEST_F(InterpreterTest, NodeOnABranchThatIsNotTakenDoesNotFail) {
  AddIsBelowFive();
  AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "below"});
  Set(Add("fails", "LoopTest>FailAt", {"s:1"}), "at", 7);
  ASSERT_OK(Run());
}

TEST_F(InterpreterTest, OutputThatIsReadAndWasNotSetIsAnError) {
  Add("forgets", "LoopTest>Forget", {"i_switch:1"});
  AddProbe("probe", "forgets");
  const absl::Status status = Run();
  EXPECT_THAT(status, Fails(absl::StatusCode::kInternal, "Missing 0-th output from forgets"));
  EXPECT_THAT(Probed("probe"), IsEmpty());
}

TEST_F(InterpreterTest, OutputThatNothingReadsNeedNotBeSet) {
  Add("forgets", "LoopTest>Forget", {"i_switch:1"});
  ASSERT_OK(Run());
}

TEST_F(InterpreterTest, OperandsOfOtherShapesAreLeftToTheKernel) {
  Add("pair", "LoopTest>Pair", {"i_switch:1"});
  AddValue("three", TensorOf<int32_t>({3}, {1, 2, 3}), {"^i_switch"});
  AddBinary("sum", "AddV2", DT_INT32, {"pair", "three"});
  AddUnary("reader", "Identity", DT_INT32, {"sum"});
  EXPECT_THAT(Run(), Fails(absl::StatusCode::kInternal, "the kernel was called"));
}

TEST_F(InterpreterTest, BranchPredicateThatIsNoScalarGivesTheExecutorsError) {
  Add("pair", "LoopTest>Pair", {"i_switch:1"});
  AddUnary("s", "Switch", DT_INT32, {"i_switch:1", "pair:1"});
  AddProbe("probe", "s:1");
  const absl::Status status = Run();
  EXPECT_THAT(status, Fails(absl::StatusCode::kInvalidArgument,
                            "The second input must be a scalar, but it has shape [2]"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node s}}"));
}

TEST_F(InterpreterTest, ConditionThatIsNoScalarIsLeftToTheStockLoop) {
  Add("pair", "LoopTest>Pair", {"i_merge"});
  Named("i_cond").set_input(0, "pair:1");
  ASSERT_OK(Run());
  EXPECT_EQ(runner_.iterations(), 0);
  EXPECT_EQ(NumberOf("start"), 0);
}

TEST_F(InterpreterTest, ConditionOfAnInnerLoopThatIsNoScalarIsAnError) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  Add("pair", "LoopTest>Pair", {"j_merge"});
  Named("j_cond").set_input(0, "pair:1");
  EXPECT_THAT(Run(), Fails(absl::StatusCode::kInvalidArgument, "{{node j_cond}}"));
}

// ---- cancellation

TEST_F(InterpreterTest, CancelledRunDoesNothing) {
  AddProbe("probe", "i_switch:1");
  runner_.cancellation().StartCancel();
  const absl::Status status = Run();
  EXPECT_THAT(status, Fails(absl::StatusCode::kCancelled, "Loop execution was cancelled."));
  EXPECT_THAT(std::string(status.message()), HasSubstr("{{node i_cond}}"));
  EXPECT_THAT(Probed("probe"), IsEmpty());
}

TEST_F(InterpreterTest, CancellationEndsTheRunBeforeTheNextIteration) {
  AddProbe("probe", "i_switch:1");
  TheSeen().at_probe = [this] {
    if (Probed("probe").size() == 3) runner_.cancellation().StartCancel();
  };
  EXPECT_THAT(Run(), Fails(absl::StatusCode::kCancelled, "Loop execution was cancelled."));
  EXPECT_THAT(Probed("probe"), ElementsAre(0, 1, 2));
}

TEST_F(InterpreterTest, CancellationEndsAnInnerLoop) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  AddProbe("probe", "j_switch:1");
  TheSeen().at_probe = [this] { runner_.cancellation().StartCancel(); };
  EXPECT_THAT(Run(), Fails(absl::StatusCode::kCancelled, "{{node j_cond}}"));
  EXPECT_THAT(Probed("probe"), ElementsAre(0));
}

}  // namespace
}  // namespace tensor_array_grad
