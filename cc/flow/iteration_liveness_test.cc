#include "cc/flow/iteration_liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/loop_under_test.h"

namespace tensor_array_grad {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;

// A loop with the variables i and p, and a conditional by p in its body that merges to `merged`.
class IterationLivenessTest : public testing::Test, protected LoopUnderTest {
 protected:
  IterationLivenessTest() {
    AddLoop();
    AddInvariant("p", DT_BOOL);
    AddConditional("p_switch:1");
    AddUnary("x", "Switch", DT_INT32, {"i_switch:1", "p_switch:1"});
    AddSum("taken", {"x:1"});
    AddConst("constant", {"^pivot_f"});
    Set(AddUnary("merged", "Merge", DT_INT32, {"taken", "constant"}), "N", 2);
  }

  IterationLiveness Liveness() { return IterationLiveness(*Find("cond")); }
  Source Output(const std::string& node, int slot = 0) { return {Find(node), slot}; }
  // Outputs that are live if and only if the branch is taken, or if and only if the body runs.
  Source Taken(int side) { return Output(side == 1 ? "pivot_t" : "pivot_f"); }
  Source InBody() { return Output("pivot"); }
};

TEST_F(IterationLivenessTest, ANodeIsOnTheBranchThatItsDataComesFrom) {
  const IterationLiveness liveness = Liveness();
  EXPECT_TRUE(liveness.FollowsFrom(Taken(1), {Output("taken")}));
  EXPECT_FALSE(liveness.FollowsFrom(Taken(0), {Output("taken")}));
  EXPECT_TRUE(liveness.FollowsFrom(Taken(1), {Output("x", 1)}));
  EXPECT_TRUE(liveness.FollowsFrom(Taken(0), {Output("x", 0)}));
  EXPECT_TRUE(liveness.FollowsFrom(InBody(), {Output("taken")}));
  EXPECT_FALSE(liveness.FollowsFrom(InBody(), {Output("less")}));
}

TEST_F(IterationLivenessTest, ANodeIsOnTheBranchThatItWaitsFor) {
  EXPECT_TRUE(Liveness().FollowsFrom(Taken(0), {Output("constant")}));
}

TEST_F(IterationLivenessTest, WaitingForASwitchSelectsNoSide) {
  AddConst("waiter", {"^x"});
  const IterationLiveness liveness = Liveness();
  EXPECT_FALSE(liveness.FollowsFrom(Taken(1), {Output("waiter")}));
  EXPECT_TRUE(liveness.FollowsFrom(InBody(), {Output("waiter")}));
}

TEST_F(IterationLivenessTest, MergeOfBothSidesIsInNoBranch) {
  AddSum("after", {"merged"});
  const IterationLiveness liveness = Liveness();
  EXPECT_FALSE(liveness.FollowsFrom(Taken(1), {Output("after")}));
  EXPECT_FALSE(liveness.FollowsFrom(Taken(0), {Output("after")}));
  EXPECT_TRUE(liveness.FollowsFrom(InBody(), {Output("after")}));
  EXPECT_TRUE(liveness.FollowsFrom(Output("after"), {Output("i_switch", 1)}));
}

TEST_F(IterationLivenessTest, AWaitDoesNotMakeAMergeDead) {
  Set(AddUnary("waits", "Merge", DT_INT32, {"x:1", "x", "^pivot_t"}), "N", 2);
  const IterationLiveness liveness = Liveness();
  EXPECT_FALSE(liveness.FollowsFrom(Taken(1), {Output("waits")}));
  EXPECT_TRUE(liveness.FollowsFrom(Output("waits"), {Output("i_switch", 1)}));
}

TEST_F(IterationLivenessTest, DeepNestingIsCutOffSafely) {
  std::string input = "i_switch:1";
  for (int depth = 0; depth < 100; ++depth) {
    const std::string id = std::to_string(depth);
    AddInvariant("q" + id, DT_BOOL);
    AddUnary("s" + id, "Switch", DT_INT32, {input, absl::StrCat("q", id, "_switch:1")});
    input = absl::StrCat("s", id, ":1");
  }
  AddSum("deep", {input});
  const IterationLiveness liveness = Liveness();
  EXPECT_FALSE(liveness.FollowsFrom(Output("deep"), {Output("i_switch", 1)}));
  EXPECT_TRUE(liveness.FollowsFrom(Output("deep"), {Output("s99", 1)}));
}

TEST_F(IterationLivenessTest, AnyOtherMergeHasAnUnknownCondition) {
  Set(AddUnary("odd", "Merge", DT_INT32, {"taken", "i_switch:1"}), "N", 2);
  EXPECT_FALSE(Liveness().FollowsFrom(Output("odd"), {Output("taken"), Output("i_switch", 1)}));
}

TEST_F(IterationLivenessTest, NodeFollowsFromTheConditionsOfAllItsInputs) {
  AddSum("both", {"taken", "i_plus"});
  const IterationLiveness liveness = Liveness();
  EXPECT_TRUE(liveness.FollowsFrom(Output("both"), {Output("taken")}));
  EXPECT_FALSE(liveness.FollowsFrom(Output("both"), {Output("i_plus")}));
  EXPECT_TRUE(liveness.FollowsFrom(Output("i_plus"), {Output("both")}));
}

TEST_F(IterationLivenessTest, ConstantOfTheLoopIsLiveInEveryIteration) {
  Placeholder("outside", DT_INT32);
  tensorflow::NodeDef& enter = AddUnary("scale", "Enter", DT_INT32, {"outside"});
  Set(enter, "frame_name", "loop");
  Set(enter, "is_constant", true);
  AddSum("scaled", {"scale", "taken"});
  const IterationLiveness liveness = Liveness();
  EXPECT_TRUE(liveness.FollowsFrom(Output("scaled"), {Output("taken")}));
  EXPECT_FALSE(liveness.FollowsFrom(Output("outside"), {Output("taken")})) << "not of the step";
}

TEST_F(IterationLivenessTest, NodesComeAfterTheirInputs) {
  std::vector<std::string> names;
  const IterationLiveness liveness = Liveness();
  for (const Node* node : liveness.nodes()) names.push_back(node->name());
  EXPECT_THAT(names, IsSupersetOf({"i_merge", "limit", "less", "cond", "i_plus", "merged"}));
  EXPECT_THAT(names, Not(Contains("i_exit")));
  const auto at = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  EXPECT_LT(at("x"), at("taken"));
  EXPECT_LT(at("taken"), at("merged"));
  EXPECT_LT(at("pivot_f"), at("constant"));
}

TEST_F(IterationLivenessTest, NodesOfAnInnerLoopHaveUnknownConditions) {
  Set(AddUnary("in_enter", "Enter", DT_INT32, {"taken"}), "frame_name", "inner");
  Set(AddUnary("in_merge", "Merge", DT_INT32, {"in_enter", "in_next"}), "N", 2);
  AddUnary("in_switch", "Switch", DT_INT32, {"in_merge", "in_cond"});
  AddUnary("in_more", "Identity", DT_BOOL, {"p_switch:1"});
  Add("in_cond", "LoopCond", {"in_more"});
  AddUnary("in_next", "NextIteration", DT_INT32, {"in_switch:1"});
  AddUnary("in_exit", "Exit", DT_INT32, {"in_switch"});
  AddSum("after", {"in_exit"});
  const IterationLiveness liveness = Liveness();
  EXPECT_FALSE(liveness.FollowsFrom(Output("after"), {Output("taken")}));
  EXPECT_FALSE(liveness.FollowsFrom(Output("in_switch", 1), {Output("after")}));
}

TEST_F(IterationLivenessTest, PivotNamesItsBranch) {
  EXPECT_EQ(BranchOfPivot(*Find("pivot_f")).side, 0);
  EXPECT_TRUE(BranchOfPivot(*Find("pivot_f")).predicate == Output("p_switch", 1));
  EXPECT_EQ(BranchOfPivot(*Find("pivot_t")).side, 1);
  EXPECT_EQ(BranchOfPivot(*Find("taken")).predicate.node, nullptr);
}

}  // namespace
}  // namespace tensor_array_grad
