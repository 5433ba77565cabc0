#include "cc/graph/pivot_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cc/testing/loop_under_test.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DT_BOOL;
using tensorflow::DT_INT32;
using tensorflow::DT_VARIANT;
using testing::ElementsAre;

// A loop with the variables i, list and p, and a conditional by p in its body.
class PivotRuleTest : public testing::Test, protected LoopUnderTest {
 protected:
  PivotRuleTest() {
    AddLoop();
    AddInvariant("list", DT_VARIANT);
    AddInvariant("p", DT_BOOL);
    AddConditional("p_gate:1");
    AddUnary("x", "Switch", DT_INT32, {"i_gate:1", "p_gate:1"});
  }

  int Apply() {
    std::vector<Rewrite> done;
    EXPECT_TRUE(PivotRule().Apply(Find("cond"), graph().get(), &done).ok());
    return static_cast<int>(done.size());
  }
};

TEST_F(PivotRuleTest, WhoHasDataFromTheBranchNeedNotWaitForIt) {
  AddSum("y", {"x:1", "^pivot_t"});
  AddSum("z", {"x", "^pivot_f"});
  EXPECT_EQ(Apply(), 3) << "the loop's gate too";
  EXPECT_THAT(InputsOf("y"), ElementsAre("x"));
  EXPECT_THAT(InputsOf("z"), ElementsAre("x"));
  EXPECT_THAT(InputsOf("i_next"), ElementsAre("i_plus"));
}

TEST_F(PivotRuleTest, WhoHasNoneStillWaits) {
  AddSum("y", {"i_gate:1", "^pivot_t"});
  AddSum("other_side", {"x", "^pivot_t"});
  AddSum("use", {"y", "other_side"});
  Apply();
  EXPECT_THAT(InputsOf("y"), ElementsAre("i_gate", "^pivot_t"));
  EXPECT_THAT(InputsOf("other_side"), ElementsAre("x", "^pivot_t"));
}

TEST_F(PivotRuleTest, AConstantThatOnlyTheBranchReadsWaitsForThePredicateAlone) {
  AddConst("c", {"^pivot_t"});
  AddSum("y", {"x:1", "c"});
  Apply();
  EXPECT_THAT(InputsOf("c"), ElementsAre("^p_gate"));
  EXPECT_THAT(InputsOf("one"), ElementsAre("^i_merge")) << "a constant of the body: for the step";
  EXPECT_EQ(Find("pivot_t"), nullptr);
  EXPECT_EQ(Find("gate"), nullptr);
  EXPECT_NE(Find("i_gate"), nullptr);
}

TEST_F(PivotRuleTest, AConstantThatIsReadElsewhereStillWaits) {
  AddConst("to_merge", {"^pivot_f"});
  Set(AddUnary("merged", "Merge", DT_INT32, {"x:1", "to_merge"}), "N", 2);
  AddConst("alone", {"^pivot_f"});
  AddSum("reader_of_nothing_else", {"alone"});
  AddConst("waited_for", {"^pivot_f"});
  AddSum("waiter", {"i_gate:1", "^waited_for"});
  Apply();
  for (const char* constant : {"to_merge", "alone", "waited_for"}) {
    EXPECT_THAT(InputsOf(constant), ElementsAre("^pivot_f"));
  }
  EXPECT_NE(Find("pred"), nullptr);
}

TEST_F(PivotRuleTest, AConstantThatWaitsForMoreStillWaits) {
  AddSum("effect", {"x:1"});
  AddConst("c", {"^pivot_t", "^effect"});
  AddSum("y", {"x:1", "c"});
  Apply();
  EXPECT_THAT(InputsOf("c"), testing::UnorderedElementsAre("^pivot_t", "^effect"));
}

TEST_F(PivotRuleTest, AnOpOfConstantsAloneStillWaitsByEachOfThem) {
  AddConst("a", {"^pivot_t"});
  AddConst("b", {"^pivot_t"});
  AddSum("effect", {"a", "b", "^pivot_t"});
  AddSum("in_body", {"one", "one_more", "^gate"});
  AddConst("one_more", {"^gate"});
  Apply();
  EXPECT_THAT(InputsOf("a"), ElementsAre("^pivot_t"));
  EXPECT_THAT(InputsOf("b"), ElementsAre("^pivot_t"));
  EXPECT_THAT(InputsOf("effect"), ElementsAre("a", "b", "^pivot_t"));
  EXPECT_THAT(InputsOf("in_body"), ElementsAre("one", "one_more", "^gate"));
  EXPECT_THAT(InputsOf("one_more"), ElementsAre("^gate"));
}

TEST_F(PivotRuleTest, APivotThatWaitsForAnEffectKeepsThoseWhoWait) {
  AddSum("effect", {"i_gate:1"});
  AddSum("y", {"x:1", "^pivot_t"});
  AddSum("z", {"x", "^pivot_f"});
  Named("pivot_t").add_input("^effect");
  Apply();
  EXPECT_THAT(InputsOf("y"), ElementsAre("x", "^pivot_t"));
  EXPECT_THAT(InputsOf("z"), ElementsAre("x"));
}

TEST_F(PivotRuleTest, APivotWhoseSwitchWaitsForAnEffectKeepsThoseWhoWait) {
  AddSum("effect", {"i_gate:1"});
  AddSum("y", {"x:1", "^pivot_t"});
  AddConst("c", {"^pivot_t"});
  AddSum("z", {"x:1", "c"});
  Named("pred").add_input("^effect");
  Apply();
  EXPECT_THAT(InputsOf("y"), ElementsAre("x", "^pivot_t"));
  EXPECT_THAT(InputsOf("c"), ElementsAre("^pivot_t"));
}

TEST_F(PivotRuleTest, APivotOfDataThatMayBeDeadKeepsThoseWhoWait) {
  AddInvariant("q", DT_BOOL);
  AddUnary("outer", "Switch", DT_INT32, {"i_gate:1", "q_gate:1"});
  AddUnary("inner", "Switch", DT_INT32, {"outer:1", "p_gate:1"});
  AddUnary("odd_pivot", "Identity", DT_INT32, {"inner:1"});
  AddSum("y", {"x:1", "^odd_pivot"});
  AddSum("z", {"inner:1", "^odd_pivot"});
  Apply();
  EXPECT_THAT(InputsOf("y"), ElementsAre("x", "^odd_pivot"));
  EXPECT_THAT(InputsOf("z"), ElementsAre("inner"));
}

TEST_F(PivotRuleTest, AMergeStillWaits) {
  Set(AddUnary("merged", "Merge", DT_INT32, {"x:1", "x", "^pivot_t"}), "N", 2);
  Apply();
  EXPECT_THAT(InputsOf("merged"), ElementsAre("x", "x", "^pivot_t"));
}

TEST_F(PivotRuleTest, AnIdentityThatNothingIsLeftOfIsReadPast) {
  AddUnary("input", "Identity", DT_INT32, {"i_gate:1", "^gate"});
  AddSum("y", {"input"});
  Apply();
  EXPECT_THAT(InputsOf("y"), ElementsAre("i_gate"));
  EXPECT_EQ(Find("input"), nullptr);
}

TEST_F(PivotRuleTest, AnIdentityThatIsWaitedForOrCopiesStays) {
  AddUnary("input", "Identity", DT_INT32, {"i_gate:1", "^gate"});
  AddConst("waiter", {"^input"});
  AddUnary("copy", "Identity", DT_INT32, {"i_gate:1", "^gate"}).set_device(kCpu1);
  AddSum("y", {"copy", "input"});
  Apply();
  EXPECT_THAT(InputsOf("y"), ElementsAre("copy", "input"));
  EXPECT_THAT(InputsOf("copy"), ElementsAre("i_gate"));
}

TEST_F(PivotRuleTest, APivotThatNobodyUsesGoesWithItsSwitch) {
  Apply();
  for (const char* node : {"pivot_t", "pivot_f", "pred"}) EXPECT_EQ(Find(node), nullptr);
}

TEST_F(PivotRuleTest, APivotThatNobodyUsesMayItselfWait) {
  AddUnary("unused", "Identity", DT_INT32, {"x:1", "^pivot_t"});
  Apply();
  for (const char* node : {"unused", "pivot_t"}) EXPECT_EQ(Find(node), nullptr) << node;
}

TEST_F(PivotRuleTest, APivotThatIsReadStays) {
  AddUnary("reader", "Identity", DT_BOOL, {"pivot_t"});
  AddSum("y", {"x:1", "^pivot_t"});
  Apply();
  EXPECT_THAT(InputsOf("y"), ElementsAre("x"));
  EXPECT_THAT(InputsOf("reader"), ElementsAre("pivot_t"));
}

TEST_F(PivotRuleTest, NoWaitComesToCrossDevices) {
  AddConst("c", {"^pivot_t"}).set_device(kCpu1);
  AddSum("y", {"x:1", "c"});
  Apply();
  EXPECT_THAT(InputsOf("c"), ElementsAre("^pivot_t"));
}

TEST_F(PivotRuleTest, ALoopWithoutAListIsLeftAlone) {
  Clear();
  AddLoop();
  EXPECT_EQ(Apply(), 0);
  EXPECT_THAT(InputsOf("i_next"), ElementsAre("i_plus", "^gate"));
}

}  // namespace
}  // namespace tensor_array_grad
