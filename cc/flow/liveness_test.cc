#include "cc/flow/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Names = std::vector<std::string>;

// A loop with the counter i and the invariant variables x (int32) and p, q (bool). Tests add nodes
// to its body. The names of requirements are "i_cond=1" and so on; "p_switch:1=0" for a predicate
// that is not the first output of its node; "unknown" for the requirement of a Merge or Exit that
// is not analysed.
class LivenessTest : public testing::Test, protected FramesUnderTest {
 protected:
  LivenessTest() {
    for (const char* name : {"zero", "ten", "step", "x0", "n0"}) Placeholder(name, DT_INT32);
    for (const char* name : {"p0", "q0"}) Placeholder(name, DT_BOOL);
    AddCounter("i", "zero", "ten", "step");
    AddVariableOf("i", "x", DT_INT32, "x0", "x_switch:1");
    AddVariableOf("i", "n", DT_INT32, "n0", "n_switch:1");
    AddVariableOf("i", "p", DT_BOOL, "p0", "p_switch:1");
    AddVariableOf("i", "q", DT_BOOL, "q0", "q_switch:1");
    // These give shorter names of requirements.
    AddUnary("body_p", "Neg", DT_BOOL, {"p_switch:1"});
    AddUnary("body_q", "Neg", DT_BOOL, {"q_switch:1"});
  }

  const Liveness& liveness() {
    if (liveness_ == nullptr) {
      const Frame& frame = FrameNamed("i");
      const absl::StatusOr<std::vector<Item>> order = OrderOf(frame);
      if (!order.ok()) ADD_FAILURE() << order.status();
      liveness_ = std::make_unique<Liveness>(frame, *order);
    }
    return *liveness_;
  }

  Source Output(const std::string& node, int slot = 0) { return {Find(node), slot}; }

  Names NamesOf(const Requirements& requirements) {
    Names names;
    for (int id : requirements) {
      const Liveness::Requirement& requirement = liveness().requirement(id);
      if (requirement.predicate.node == nullptr) {
        names.push_back("unknown");
        continue;
      }
      const int slot = requirement.predicate.slot;
      names.push_back(absl::StrCat(requirement.predicate.node->name(),
                                   slot == 0 ? "" : absl::StrCat(":", slot), "=",
                                   requirement.side));
    }
    return names;
  }

  Names Of(const std::string& node, int slot = 0) {
    return NamesOf(liveness().Of(Output(node, slot)));
  }
  Names OfNode(const std::string& node) { return NamesOf(liveness().OfNode(*Find(node))); }

  void AddSwitch(const std::string& name, const std::string& data, const std::string& predicate) {
    AddUnary(name, "Switch", DT_INT32, {data, predicate});
  }

 private:
  std::unique_ptr<Liveness> liveness_;
};

TEST_F(LivenessTest, EnteringValuesAndTheLoopsMergesAreLive) {
  EXPECT_THAT(Of("i_enter"), IsEmpty());
  EXPECT_THAT(Of("i_limit"), IsEmpty());
  EXPECT_THAT(Of("i_merge"), IsEmpty());
  EXPECT_THAT(Of("i_less"), IsEmpty());
  EXPECT_THAT(Of("i_cond"), IsEmpty());
}

TEST_F(LivenessTest, BodyIsLiveIfLoopCondIsTrueAndExitsIfItIsFalse) {
  EXPECT_THAT(Of("i_switch", 1), ElementsAre("i_cond=1"));
  EXPECT_THAT(Of("i_switch", 0), ElementsAre("i_cond=0"));
  EXPECT_THAT(Of("i_plus"), ElementsAre("i_cond=1"));
  EXPECT_THAT(OfNode("i_next"), ElementsAre("i_cond=1"));
  EXPECT_THAT(OfNode("i_exit"), ElementsAre("i_cond=0"));
}

TEST_F(LivenessTest, SwitchAddsItsSideToTheConditionsOfItsInputs) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddUnary("taken", "Neg", DT_INT32, {"s:1"});
  EXPECT_THAT(OfNode("s"), ElementsAre("i_cond=1"));
  EXPECT_THAT(Of("s", 1), UnorderedElementsAre("i_cond=1", "body_p=1"));
  EXPECT_THAT(Of("s", 0), UnorderedElementsAre("i_cond=1", "body_p=0"));
  EXPECT_THAT(Of("taken"), UnorderedElementsAre("i_cond=1", "body_p=1"));
}

TEST_F(LivenessTest, SwitchesByOnePredicateShareTheirConditionsThroughIdentity) {
  AddUnary("copy", "Identity", DT_BOOL, {"body_p"});
  AddUnary("copy_of_copy", "Identity", DT_BOOL, {"copy"});
  AddSwitch("s", "x_switch:1", "body_p");
  AddSwitch("t", "x_switch:1", "copy_of_copy");
  EXPECT_EQ(liveness().Of(Output("s", 1)), liveness().Of(Output("t", 1)));
  EXPECT_EQ(liveness().Find(Output("copy"), 1), liveness().Find(Output("body_p"), 1));
  EXPECT_GE(liveness().Find(Output("copy"), 1), 0);
}

TEST_F(LivenessTest, PredicateOfNoSwitchHasNoCondition) {
  EXPECT_EQ(liveness().Find(Output("body_p"), 1), -1);
}

TEST_F(LivenessTest, MergeOfBothSidesRemovesTheCondition) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddUnary("taken", "Neg", DT_INT32, {"s:1"});
  AddMerge("merged", DT_INT32, {"s", "taken"});
  EXPECT_THAT(Of("merged"), ElementsAre("i_cond=1"));
  EXPECT_EQ(liveness().FindUnknown(*Find("merged")), -1);
}

TEST_F(LivenessTest, ControlEdgesDoNotMakeAMergeDead) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddUnary("other", "Switch", DT_INT32, {"x_switch:1", "body_q"});
  AddUnary("pivot", "Identity", DT_INT32, {"other:1"});
  AddMerge("merged", DT_INT32, {"s", "s:1", "^pivot"});
  EXPECT_THAT(Of("merged"), ElementsAre("i_cond=1"));
}

TEST_F(LivenessTest, ConditionsOfNestedConditionalsAreAddedAndRemovedOneByOne) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddUnary("inner_q", "Switch", DT_BOOL, {"body_q", "body_p"});
  AddUnary("t", "Switch", DT_INT32, {"s:1", "inner_q:1"});
  AddMerge("inner", DT_INT32, {"t", "t:1"});
  AddMerge("outer", DT_INT32, {"s", "inner"});
  EXPECT_THAT(Of("t", 1), UnorderedElementsAre("i_cond=1", "body_p=1", "inner_q:1=1"));
  EXPECT_THAT(Of("inner"), UnorderedElementsAre("i_cond=1", "body_p=1"));
  EXPECT_THAT(Of("outer"), ElementsAre("i_cond=1"));
}

TEST_F(LivenessTest, ConditionImpliesThoseOfItsPredicate) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddUnary("inner_q", "Switch", DT_BOOL, {"body_q", "body_p"});
  AddUnary("t", "Switch", DT_INT32, {"s:1", "inner_q:1"});
  const Requirements& deep = liveness().Of(Output("t", 1));
  EXPECT_THAT(NamesOf(liveness().Minimal(deep)), ElementsAre("inner_q:1=1"));
  const int inner = liveness().Find(Output("inner_q", 1), 1);
  EXPECT_THAT(NamesOf(liveness().requirement(inner).implied),
              UnorderedElementsAre("i_cond=1", "body_p=1"));
}

TEST_F(LivenessTest, SwitchWithDataFromOutsideOfTheBranchStillHasThePredicatesConditions) {
  // The data input is live in each iteration, the predicate only if p holds.
  AddUnary("inner_q", "Switch", DT_BOOL, {"body_q", "body_p"});
  AddSwitch("t", "x_switch:1", "inner_q:1");
  EXPECT_THAT(Of("t", 0), UnorderedElementsAre("i_cond=1", "body_p=1", "inner_q:1=0"));
}

TEST_F(LivenessTest, ConditionOfAnOuterPredicateDoesNotImplyTheBranchThatCopiesIt) {
  // The first Switch, by a copy of q, is in a branch of p. The second, by q itself, is outside of
  // it.
  AddUnary("side", "Switch", DT_BOOL, {"body_p", "body_p"});
  AddUnary("pivot", "Identity", DT_BOOL, {"side:1"});
  AddUnary("copy", "Identity", DT_BOOL, {"body_q", "^pivot"});
  AddSwitch("inside", "x_switch:1", "copy");
  AddMerge("of_q", DT_INT32, {"inside", "inside:1"});
  AddUnary("not_p", "Switch", DT_INT32, {"x_switch:1", "body_p"});
  AddMerge("of_p", DT_INT32, {"not_p", "of_q"});
  AddSwitch("outside", "of_p", "body_q");
  EXPECT_THAT(Of("inside", 1), UnorderedElementsAre("i_cond=1", "body_p=1", "body_q=1"));
  EXPECT_THAT(Of("of_p"), ElementsAre("i_cond=1"));
  EXPECT_THAT(Of("outside", 1), UnorderedElementsAre("i_cond=1", "body_q=1"));
}

TEST_F(LivenessTest, SwitchNHasOneConditionForEachOutput) {
  AddSwitchN("s", 3, {"x_switch:1", "n_switch:1"});
  EXPECT_THAT(Of("s", 0), UnorderedElementsAre("i_cond=1", "n_switch:1=0"));
  EXPECT_THAT(Of("s", 2), UnorderedElementsAre("i_cond=1", "n_switch:1=2"));
  EXPECT_EQ(liveness().requirement(liveness().Find(Output("n_switch", 1), 2, 3)).implied.size(), 1);
}

TEST_F(LivenessTest, MergeOfAllOutputsOfSwitchNIsLiveInAnyOrderOfThem) {
  AddSwitchN("s", 3, {"x_switch:1", "n_switch:1"});
  AddMerge("merged", DT_INT32, {"s:2", "s", "s:1"});
  AddMerge("two_of_three", DT_INT32, {"s:2", "s"});
  AddMerge("one_twice", DT_INT32, {"s:2", "s", "s:2"});
  EXPECT_THAT(Of("merged"), ElementsAre("i_cond=1"));
  EXPECT_THAT(Of("two_of_three"), ElementsAre("i_cond=1", "unknown"));
  EXPECT_THAT(Of("one_twice"), ElementsAre("i_cond=1", "unknown"));
}

TEST_F(LivenessTest, SwitchesOfDifferentSizeByOneIndexHaveDifferentConditions) {
  // The index 4 selects the last output of both Switches: 2 of `three`, 4 of `five`.
  AddSwitchN("three", 3, {"x_switch:1", "n_switch:1"});
  AddSwitchN("five", 5, {"x_switch:1", "n_switch:1"});
  const Requirements& last_of_three = liveness().Of(Output("three", 2));
  EXPECT_NE(last_of_three, liveness().Of(Output("five", 2)));
  EXPECT_FALSE(liveness().Exclude(last_of_three, liveness().Of(Output("five", 4))));
  EXPECT_TRUE(liveness().Exclude(last_of_three, liveness().Of(Output("three", 0))));
}

TEST_F(LivenessTest, MergeOfOneInputHasItsConditions) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddMerge("merged", DT_INT32, {"s:1"});
  EXPECT_THAT(Of("merged"), UnorderedElementsAre("i_cond=1", "body_p=1"));
}

TEST_F(LivenessTest, AnyOtherMergeHasAnUnknownConditionAndThoseCommonToItsInputs) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddSwitch("t", "x_switch:1", "body_q");
  AddMerge("odd", DT_INT32, {"s", "t:1"});
  AddUnary("reader", "Neg", DT_INT32, {"odd"});
  const int unknown = liveness().FindUnknown(*Find("odd"));
  ASSERT_GE(unknown, 0);
  EXPECT_THAT(Of("odd"), ElementsAre("i_cond=1", "unknown"));
  EXPECT_THAT(Of("reader"), ElementsAre("i_cond=1", "unknown"));
  EXPECT_THAT(NamesOf(liveness().requirement(unknown).implied), ElementsAre("i_cond=1"));
  EXPECT_THAT(NamesOf(liveness().Minimal(liveness().Of(Output("odd")))), ElementsAre("unknown"));
}

TEST_F(LivenessTest, MergeOfOneSideTwiceHasAnUnknownCondition) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddUnary("taken", "Neg", DT_INT32, {"s:1"});
  AddMerge("odd", DT_INT32, {"s:1", "taken"});
  EXPECT_THAT(Of("odd"), ElementsAre("i_cond=1", "body_p=1", "unknown"));
}

TEST_F(LivenessTest, UnknownConditionsOfTwoMergesDiffer) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddSwitch("t", "x_switch:1", "body_q");
  AddMerge("odd", DT_INT32, {"s", "t:1"});
  AddMerge("odd_too", DT_INT32, {"s", "t:1"});
  EXPECT_NE(liveness().FindUnknown(*Find("odd")), liveness().FindUnknown(*Find("odd_too")));
  EXPECT_FALSE(liveness().Exclude(liveness().Of(Output("odd")), liveness().Of(Output("odd_too"))));
}

TEST_F(LivenessTest, MergeOfBothSidesWithAFurtherConditionOnOneHasAnUnknownCondition) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddUnary("inner_q", "Switch", DT_BOOL, {"body_q", "body_p"});
  AddUnary("t", "Switch", DT_INT32, {"s:1", "inner_q:1"});
  AddMerge("odd", DT_INT32, {"s", "t:1"});
  EXPECT_THAT(Of("odd"), ElementsAre("i_cond=1", "unknown"));
}

TEST_F(LivenessTest, NodeThatWaitsForAPivotIsDeadWithIt) {
  AddConditional("body_p");
  AddConst("constant", {"^pivot_f"});
  AddConst("waits_for_both", {"^pivot_f", "^body_q"});
  EXPECT_THAT(Of("constant"), UnorderedElementsAre("i_cond=1", "body_p=0"));
  EXPECT_THAT(Of("waits_for_both"), UnorderedElementsAre("i_cond=1", "body_p=0"));
}

TEST_F(LivenessTest, NodeThatWaitsForASwitchIsOnNeitherSide) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddConst("waiter", {"^s"});
  EXPECT_THAT(Of("waiter"), ElementsAre("i_cond=1"));
}

TEST_F(LivenessTest, ControlTriggerRunsInEveryIteration) {
  AddConditional("body_p");
  Add("trigger", "ControlTrigger", {"^pivot_f", "^i_plus"});
  AddConst("after", {"^trigger"});
  EXPECT_THAT(OfNode("trigger"), IsEmpty());
  EXPECT_THAT(Of("after"), IsEmpty());
}

TEST_F(LivenessTest, BothSidesExcludeEachOther) {
  AddSwitch("s", "x_switch:1", "body_p");
  AddSwitch("t", "x_switch:1", "body_q");
  const Liveness& all = liveness();
  EXPECT_TRUE(all.Exclude(all.Of(Output("s", 0)), all.Of(Output("s", 1))));
  EXPECT_FALSE(all.Exclude(all.Of(Output("s", 0)), all.Of(Output("s", 0))));
  EXPECT_FALSE(all.Exclude(all.Of(Output("s", 0)), all.Of(Output("t", 1))));
  EXPECT_TRUE(all.Exclude(all.Of(Output("i_plus")), all.OfNode(*Find("i_exit"))));
  EXPECT_FALSE(all.Exclude({}, all.Of(Output("s", 1))));
}

TEST_F(LivenessTest, SkipIdentitiesFollowsOnlyIdentity) {
  AddUnary("copy", "Identity", DT_BOOL, {"p_switch:1"});
  AddUnary("copy_of_copy", "Identity", DT_BOOL, {"copy"});
  EXPECT_TRUE(SkipIdentities(Output("copy_of_copy")) == Output("p_switch", 1));
  EXPECT_TRUE(SkipIdentities(Output("body_p")) == Output("body_p"));
}

// Adds an inner loop j with the variables j and y.
class InnerLoopLivenessTest : public LivenessTest {
 protected:
  // `j` and `y`: the first values of the variables; `limit`: the constant that j is compared with.
  void AddInnerLoop(const std::string& j, const std::string& y, const std::string& limit) {
    AddSwitch("s", "x_switch:1", "body_p");
    AddSwitch("t", "x_switch:1", "body_q");
    AddCounter("j", j, limit, "i_one");
    AddVariableOf("j", "y", DT_INT32, y, "y_switch:1");
    AddUnary("after", "Neg", DT_INT32, {"y_exit"});
  }
};

TEST_F(InnerLoopLivenessTest, LoopWhoseVariablesHaveEqualConditionsEntersAsOne) {
  AddInnerLoop("s:1", "s:1", "s:1");
  ASSERT_TRUE(liveness().EntersAsOne(FrameNamed("j")));
  EXPECT_THAT(NamesOf(liveness().OfLoop(FrameNamed("j"))),
              UnorderedElementsAre("i_cond=1", "body_p=1"));
  EXPECT_THAT(Of("j_exit"), UnorderedElementsAre("i_cond=1", "body_p=1"));
  EXPECT_THAT(Of("after"), UnorderedElementsAre("i_cond=1", "body_p=1"));
}

TEST_F(InnerLoopLivenessTest, ExitOfAVariableThatMayBeDeadApartHasAnUnknownCondition) {
  AddInnerLoop("s:1", "x_switch:1", "s:1");
  EXPECT_FALSE(liveness().EntersAsOne(FrameNamed("j")));
  EXPECT_THAT(Of("after"), ElementsAre("unknown"));
}

TEST_F(InnerLoopLivenessTest, VariableOnTheOtherSideIsDeadApart) {
  AddInnerLoop("s:1", "s:0", "i_limit");
  EXPECT_FALSE(liveness().EntersAsOne(FrameNamed("j")));
}

TEST_F(InnerLoopLivenessTest, ConstantWithFewerConditionsIsLiveWithTheLoop) {
  AddInnerLoop("s:1", "s:1", "i_limit");
  EXPECT_TRUE(liveness().EntersAsOne(FrameNamed("j")));
}

TEST_F(InnerLoopLivenessTest, ConstantWithMoreConditionsMayBeDeadApart) {
  AddInnerLoop("s:1", "s:1", "t:1");
  EXPECT_FALSE(liveness().EntersAsOne(FrameNamed("j")));
}

TEST_F(InnerLoopLivenessTest, EnterThatWaitsForAnotherBranchIsDeadApart) {
  AddInnerLoop("s:1", "s:1", "i_limit");
  AddUnary("pivot_q", "Identity", DT_INT32, {"t:1"});
  Named("y_enter").add_input("^pivot_q");
  EXPECT_FALSE(liveness().EntersAsOne(FrameNamed("j")));
}

TEST_F(InnerLoopLivenessTest, LoopOfConstantsOnlyDoesNotEnterAsOne) {
  AddConstantOf("j", "c", DT_INT32, "x_switch:1");
  AddUnary("c_exit", "Exit", DT_INT32, {"c"});
  EXPECT_FALSE(liveness().EntersAsOne(FrameNamed("j")));
}

// ---- predicates whose value is known

class KnownPredicateTest : public InnerLoopLivenessTest {
 protected:
  // A loop j that runs if body_p is `side`, and has body_p and body_q as constants.
  void AddLoopOfSide(int side) {
    const std::string input = absl::StrCat("s:", side);
    AddInnerLoop(input, input, input);
    AddConstantOf("j", "p_in", DT_BOOL, "body_p");
    AddConstantOf("j", "q_in", DT_BOOL, "body_q");
    AddSwitch("by_p", "y_switch:1", "p_in");
    AddSwitch("by_q", "y_switch:1", "q_in");
    AddMerge("merged", DT_INT32, {"by_p", "by_p:1"});
  }

  // The requirements in the frame of that name. Its predicates are named by their Enters.
  const Liveness& In(const std::string& frame) {
    liveness().NoteKnownValues(FrameNamed("j"));
    const absl::StatusOr<std::vector<Item>> order = OrderOf(FrameNamed(frame));
    if (!order.ok()) ADD_FAILURE() << order.status();
    inner_ = std::make_unique<Liveness>(FrameNamed(frame), *order);
    return *inner_;
  }
  int TakenIn(const std::string& frame) { return inner_->Find({Find(frame + "_cond"), 0}, 1); }

 private:
  std::unique_ptr<Liveness> inner_;
};

class KnownSideTest : public KnownPredicateTest, public testing::WithParamInterface<int> {};

TEST_P(KnownSideTest, ASwitchAddsNoConditionToTheKnownSide) {
  AddLoopOfSide(GetParam());
  const Liveness& in = In("j");
  EXPECT_THAT(in.Of(Output("by_p", GetParam())), ElementsAre(TakenIn("j")));
  EXPECT_TRUE(in.AreNeverLive(in.Of(Output("by_p", 1 - GetParam()))));
  EXPECT_THAT(in.Of(Output("merged")), ElementsAre(TakenIn("j")));
  EXPECT_EQ(in.Find(Output("p_in"), GetParam()), -1);
}
INSTANTIATE_TEST_SUITE_P(Sides, KnownSideTest, testing::Values(0, 1));

TEST_F(KnownPredicateTest, AnotherPredicateIsNotKnown) {
  AddLoopOfSide(1);
  const Liveness& in = In("j");
  EXPECT_THAT(in.Of(Output("by_q", 1)),
              UnorderedElementsAre(TakenIn("j"), in.Find(Output("q_in"), 1)));
  EXPECT_FALSE(in.AreNeverLive(in.Of(Output("by_q", 0))));
}

TEST_F(KnownPredicateTest, IsFollowedIntoInnerLoops) {
  AddLoopOfSide(1);
  AddCounter("k", "y_switch:1", "j_limit", "j_one");
  AddConstantOf("k", "p_in_k", DT_BOOL, "p_in");
  AddSwitch("by_p_in_k", "k_switch:1", "p_in_k");
  const Liveness& in = In("k");
  EXPECT_THAT(in.Of(Output("by_p_in_k", 1)), ElementsAre(TakenIn("k")));
  EXPECT_TRUE(in.AreNeverLive(in.Of(Output("by_p_in_k", 0))));
}

TEST_F(KnownPredicateTest, IsForgotten) {
  AddLoopOfSide(1);
  In("j");
  ForgetKnownValues(FrameNamed("j"));
  const absl::StatusOr<std::vector<Item>> order = OrderOf(FrameNamed("j"));
  ASSERT_TRUE(order.ok());
  const Liveness again(FrameNamed("j"), *order);
  EXPECT_FALSE(again.AreNeverLive(again.Of(Output("by_p", 0))));
}

TEST_F(KnownPredicateTest, AConstIsKnown) {
  AddValue("yes", tensorflow::Tensor(true), {"^i_switch"});
  AddSwitch("by_yes", "x_switch:1", "yes");
  AddMerge("both", DT_INT32, {"by_yes", "by_yes:1"});
  EXPECT_THAT(Of("by_yes", 1), ElementsAre("i_cond=1"));
  EXPECT_TRUE(liveness().AreNeverLive(liveness().Of(Output("by_yes", 0))));
  EXPECT_THAT(Of("both"), ElementsAre("i_cond=1"));
}

}  // namespace
}  // namespace tensor_array_grad
