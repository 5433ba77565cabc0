#include "cc/graph/invariant_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cc/testing/loop_under_test.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DT_BOOL;
using tensorflow::DT_INT32;
using tensorflow::DT_VARIANT;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Stands for the kernel that takes the place of an Exit: on CPU alone, so that a GPU has none.
REGISTER_KERNEL_BUILDER(Name("Identity").Device(tensorflow::DEVICE_CPU), NeverRun);

// A loop with the variables i, list and n; list and n never change.
class InvariantRuleTest : public testing::Test, protected LoopUnderTest {
 protected:
  InvariantRuleTest() { Reset(); }

  void Reset() {
    Clear();
    AddLoop();
    AddInvariant("list", DT_VARIANT);
    AddInvariant("n", DT_INT32);
  }

  int Apply() {
    std::vector<Rewrite> done;
    EXPECT_TRUE(InvariantRule().Apply(Find("cond"), graph().get(), &done).ok());
    return static_cast<int>(done.size());
  }

  bool IsConstant(const std::string& enter) {
    bool constant = false;
    EXPECT_TRUE(TryGetNodeAttr(Find(enter)->attrs(), "is_constant", &constant));
    return constant;
  }

  // Applies the rule to the loop with that change, which keeps it from n. Only the list is taken.
  void ExpectKept(const std::function<void()>& change) {
    Reset();
    change();
    EXPECT_EQ(Apply(), 1);
    EXPECT_FALSE(IsConstant("n_enter"));
    EXPECT_THAT(InputsOf("n_merge"), ElementsAre("n_enter", "n_next"));
    EXPECT_THAT(InputsOf("n_gate"), ElementsAre("n_merge", "cond"));
  }
};

TEST_F(InvariantRuleTest, AVariableThatNeverChangesBecomesAConstantOfTheLoop) {
  AddSum("reader", {"n_gate:1", "i_plus"});
  Add("length", "TensorListLength", {"list_gate:1"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_TRUE(IsConstant("list_enter"));
  EXPECT_TRUE(IsConstant("n_enter"));
  EXPECT_FALSE(IsConstant("i_enter"));
  EXPECT_THAT(InputsOf("list_enter"), ElementsAre("list"));
  EXPECT_EQ(CountOf("Merge") + CountOf("Switch") + CountOf("NextIteration") + CountOf("Exit"), 4);
}

TEST_F(InvariantRuleTest, EveryStepWaitsForAConstantSoThatItsReadersMayGo) {
  AddSum("reader", {"n_gate:1", "i_plus"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("i_next"), UnorderedElementsAre("i_plus", "^gate", "^n_enter"));
}

TEST_F(InvariantRuleTest, OfAVariableThatNobodyReadsNothingStays) {
  EXPECT_EQ(Apply(), 2);
  EXPECT_EQ(CountOf("Enter"), 1);
  EXPECT_THAT(InputsOf("i_next"), ElementsAre("i_plus", "^gate"));
}

TEST_F(InvariantRuleTest, AnEnterThatWaitsForSomethingIsWaitedForStill) {
  Placeholder("before", DT_INT32);
  Named("n_enter").add_input("^before");
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("n_enter"), ElementsAre("n", "^before"));
  EXPECT_THAT(InputsOf("i_next"), UnorderedElementsAre("i_plus", "^gate", "^n_enter"));
}

TEST_F(InvariantRuleTest, AReaderInTheBodyReadsTheEnter) {
  AddSum("reader", {"n_gate:1", "i_plus"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("n_enter", "i_plus"));
}

TEST_F(InvariantRuleTest, AReaderOfNothingElseWaitsForTheBody) {
  AddSum("reader", {"n_gate:1", "n_gate:1"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("n_enter", "n_enter", "^gate"));
}

TEST_F(InvariantRuleTest, AReaderOfSeveralConstantsWaitsForTheBody) {
  AddInvariant("m", DT_INT32);
  AddSum("reader", {"n_gate:1", "m_gate:1"});
  AddSum("behind", {"reader", "n_gate:1"});
  EXPECT_EQ(Apply(), 3);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("n_enter", "m_enter", "^gate"));
  EXPECT_THAT(InputsOf("behind")[1], "n_enter");
}

TEST_F(InvariantRuleTest, AReaderThatWaitsForTheBodyAlreadyWaitsOnce) {
  AddSum("reader", {"n_gate:1", "^gate"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("n_enter", "^gate"));
}

TEST_F(InvariantRuleTest, AReaderThatWaitsForASwitchIsNotHeldByIt) {
  AddSum("reader", {"n_gate:1", "^i_gate"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("reader"), UnorderedElementsAre("n_enter", "^i_gate", "^gate"));
}

TEST_F(InvariantRuleTest, AConditionReadsTheEnter) {
  Named("less").set_input(1, "n_merge");
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("less"), ElementsAre("i_merge", "n_enter"));
}

TEST_F(InvariantRuleTest, IdentitiesThatOnlyRepeatItGoToo) {
  AddUnary("first", "Identity", DT_INT32, {"n_gate:1", "^gate"});
  AddUnary("second", "Identity", DT_INT32, {"first"});
  AddSum("reader", {"first", "i_plus"});
  Named("n_next").set_input(0, "second");
  EXPECT_EQ(Apply(), 2);
  EXPECT_EQ(Find("first"), nullptr);
  EXPECT_EQ(Find("second"), nullptr);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("n_enter", "i_plus"));
}

TEST_F(InvariantRuleTest, AConditionalInTheBodyTakesTheEnter) {
  AddVariable("p", DT_BOOL, "p_next_value");
  AddUnary("p_next_value", "Identity", DT_BOOL, {"p_gate:1", "^gate", "^i_plus"});
  AddUnary("branch", "Switch", DT_INT32, {"n_gate:1", "p_gate:1"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("branch"), ElementsAre("n_enter", "p_gate"));
}

TEST_F(InvariantRuleTest, ForTheExitComesTheInitialValueOnceTheLoopHasEnded) {
  AddSum("reader", {"n_exit"});
  Add("waiter", "NoOp", {"^n_exit"});
  EXPECT_EQ(Apply(), 2);
  const std::string value = InputsOf("reader")[0];
  EXPECT_EQ(Find(value)->type_string(), "Identity");
  EXPECT_EQ(Find(value)->assigned_device_name(), kCpu0);
  EXPECT_THAT(InputsOf(value), ElementsAre("n", "^i_exit"));
  EXPECT_THAT(InputsOf("waiter"), ElementsAre("^" + value));
  EXPECT_EQ(Find("n_exit"), nullptr);
}

TEST_F(InvariantRuleTest, WhatEveryNextStepWaitsForIsStillWaitedFor) {
  AddSum("effect", {"i_gate:1"});
  for (const char* next : {"i_next", "list_next", "n_next"}) Named(next).add_input("^effect");
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("i_next"), UnorderedElementsAre("i_plus", "^gate", "^effect"));
}

// ---- near misses: the variable n must stay as it is

TEST_F(InvariantRuleTest, ALoopWithoutAListIsLeftAlone) {
  Clear();
  AddLoop();
  AddInvariant("n", DT_INT32);
  EXPECT_EQ(Apply(), 0);
}

TEST_F(InvariantRuleTest, AVariableThatChangesStays) {
  ExpectKept([&] {
    AddSum("changed", {"n_gate:1", "i_plus"});
    Named("n_next").set_input(0, "changed");
  });
  ExpectKept([&] { Named("n_next").set_input(0, "i_gate:1"); });
}

TEST_F(InvariantRuleTest, AConstantOfTheLoopStays) {
  Set(Named("n_enter"), "is_constant", true);
  EXPECT_EQ(Apply(), 1);
  EXPECT_NE(Find("n_merge"), nullptr);
}

TEST_F(InvariantRuleTest, AVariableOfWhichTheMergesIndexIsReadStays) {
  ExpectKept([&] { AddSum("reader", {"n_merge:1"}); });
}

TEST_F(InvariantRuleTest, AVariableOfWhichANodeIsWaitedForStays) {
  for (const char* node : {"^n_merge", "^n_gate", "^n_next"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] { AddConst("waiter", {node}); });
  }
}

TEST_F(InvariantRuleTest, AVariableThatSharesItsEnterOrNextStepStays) {
  ExpectKept([&] {
    AddVariable("copy", DT_INT32, "n_gate:1");
    Named("copy_merge").set_input(1, "n_next");
  });
  ExpectKept([&] {
    AddVariable("copy", DT_INT32, "i_plus");
    Named("copy_merge").set_input(0, "n_enter");
  });
}

TEST_F(InvariantRuleTest, AVariableThatControlFlowReadsStays) {
  for (const char* source : {"n_gate:1", "n_merge"}) {
    SCOPED_TRACE(source);
    ExpectKept([&] { Set(AddUnary("r", "Merge", DT_INT32, {source, "i_plus"}), "N", 2); });
    ExpectKept([&] { AddUnary("r", "NextIteration", DT_INT32, {source}); });
    ExpectKept([&] { AddUnary("r", "Exit", DT_INT32, {source}); });
    ExpectKept([&] { Set(AddUnary("r", "Enter", DT_INT32, {source}), "frame_name", "inner"); });
  }
}

TEST_F(InvariantRuleTest, AVariableThatIsAConditionItselfStays) {
  AddInvariant("p", DT_BOOL);
  AddUnary("branch", "Switch", DT_INT32, {"i_gate:1", "p_gate:1"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_FALSE(IsConstant("p_enter"));
}

TEST_F(InvariantRuleTest, AConditionOfNothingElseStays) {
  AddInvariant("p", DT_BOOL);
  Named("cond").set_input(0, "p_merge");
  EXPECT_EQ(Apply(), 2);
  EXPECT_FALSE(IsConstant("p_enter"));
}

TEST_F(InvariantRuleTest, ARepetitionThatSomebodyWaitsForStaysAndWaitsForAnotherGate) {
  AddUnary("own_gate", "Identity", DT_INT32, {"n_gate:1"});
  AddConst("constant", {"^own_gate"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("own_gate"), ElementsAre("n_enter", "^gate"));
  EXPECT_THAT(InputsOf("constant"), ElementsAre("^own_gate"));
}

TEST_F(InvariantRuleTest, WithoutABodyGateAReaderOfNothingElseKeepsTheVariable) {
  ExpectKept([&] {
    for (const char* node : {"one", "i_next", "list_next", "n_next"}) {
      auto* const inputs = Named(node).mutable_input();
      inputs->RemoveLast();  // ^gate
    }
    Named("gate").add_input("^i_plus");  // as late as that: not a gate alone
    AddSum("reader", {"n_gate:1"});
  });
}

TEST_F(InvariantRuleTest, AVariableThatWaitsForSomethingOfItsOwnStays) {
  ExpectKept([&] {
    AddSum("effect", {"i_gate:1"});
    Named("n_next").add_input("^effect");
  });
}

TEST_F(InvariantRuleTest, AnExitThatNoOtherExitStandsForKeepsTheVariable) {
  graph()->RemoveNode(Find("i_exit"));
  graph()->RemoveNode(Find("list_exit"));
  EXPECT_EQ(Apply(), 2) << "nobody reads n_exit";
  Reset();
  AddSum("reader", {"n_exit"});
  graph()->RemoveNode(Find("i_exit"));
  graph()->RemoveNode(Find("list_exit"));
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("n_exit"));
}

TEST_F(InvariantRuleTest, ADeviceWithoutTheKernelForTheExitIsLeftAlone) {
  AddSum("reader", {"n_exit"});
  for (const char* node : {"n_enter", "n_merge", "n_gate", "n_next", "n_exit", "i_exit"}) {
    Named(node).set_device(kGpu0);
  }
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("reader"), ElementsAre("n_exit"));
}

TEST_F(InvariantRuleTest, AVariableOnSeveralDevicesStays) {
  for (const char* node : {"n_enter", "n_merge", "n_gate", "n_next", "n_exit", "reader"}) {
    SCOPED_TRACE(node);
    ExpectKept([&] {
      AddSum("reader", {"n_gate:1", "i_plus"});
      Named(node).set_device(kCpu1);
    });
  }
}

TEST_F(InvariantRuleTest, ALoopInWhichNothingElseChangesIsLeftAlone) {
  Reset();
  Named("i_next").set_input(0, "i_gate:1");
  EXPECT_EQ(Apply(), 0);
}

}  // namespace
}  // namespace tensor_array_grad
