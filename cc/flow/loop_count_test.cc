#include "cc/flow/loop_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/loop_under_test.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::Optional;

// The loop `while i < limit: i = i + step`, with the constants `step` and `limit_in` and an i that
// begins as `start`; all of them are numbers that a test may set.
class LoopCountTest : public testing::Test, protected LoopUnderTest {
 protected:
  LoopCountTest() { Reset(0, 1, "AddV2", "i_switch:1", "step_in"); }

  void Reset(int start, int step, const char* op, const std::string& a, const std::string& b) {
    Clear();
    AddVariable("i", DT_INT32, "sum");
    Named("i_enter").set_input(0, "start");
    AddNumber("start", start);
    AddNumber("step", step);
    AddNumber("limit", 10);
    AddEnter("step_in", "step");
    AddEnter("limit_in", "limit");
    AddUnary("pivot", "Identity", DT_INT32, {"i_switch:1"});
    AddUnary("less", "Less", DT_INT32, {"i_merge", "limit_in"});
    Add("cond", "LoopCond", {"less"});
    AddUnary("sum", op, DT_INT32, {a, b});
  }

  void AddNumber(const std::string& name, int value) {
    Set(AddConst(name, {}), "value", Tensor(int32_t{value}));
  }

  void AddEnter(const std::string& name, const std::string& source) {
    tensorflow::NodeDef& enter = AddUnary(name, "Enter", DT_INT32, {source});
    Set(enter, "frame_name", std::string("loop"));
    Set(enter, "is_constant", true);
  }

  std::optional<LoopCount> Count() { return LoopCountOf(*LoopVariableOf(Find("i_switch"))); }

  // Whether the loop continues only while a count of its iterations is below `limit`.
  bool StopsAtLimit() {
    return StopsAt(*Find("cond"), [this](Source limit) { return limit.node == Find("limit"); });
  }
};

TEST_F(LoopCountTest, ASumOfTheVariableAndAStepIsACount) {
  for (const bool swapped : {false, true}) {
    Reset(0, 1, "AddV2", swapped ? "step_in" : "i_switch:1", swapped ? "i_switch:1" : "step_in");
    const auto count = Count();
    ASSERT_TRUE(count.has_value());
    EXPECT_EQ(count->sum, Find("sum"));
    EXPECT_EQ(count->step.node, Find("step_in"));
    EXPECT_FALSE(count->down);
    EXPECT_TRUE(count->GrowsBy(1));
    EXPECT_TRUE(CountsIterations(*count));
  }
}

TEST_F(LoopCountTest, ADifferenceCountsDown) {
  Reset(10, 2, "Sub", "i_switch:1", "step_in");
  const auto count = Count();
  ASSERT_TRUE(count.has_value());
  EXPECT_TRUE(count->down);
  EXPECT_TRUE(count->GrowsBy(-2));
  EXPECT_FALSE(CountsIterations(*count));
}

TEST_F(LoopCountTest, TheStepMayBeBehindIdentitiesOfTheBody) {
  AddUnary("copy", "Identity", DT_INT32, {"i_switch:1", "^pivot"});
  Named("sum").set_input(0, "copy");
  EXPECT_TRUE(Count().has_value());
}

TEST_F(LoopCountTest, OtherUpdatesAreNoCounts) {
  Reset(0, 1, "Sub", "step_in", "i_switch:1");
  EXPECT_FALSE(Count().has_value());
  Reset(0, 1, "Mul", "i_switch:1", "step_in");
  EXPECT_FALSE(Count().has_value());
  Reset(0, 1, "AddV2", "limit_in", "step_in");
  EXPECT_FALSE(Count().has_value());
  Reset(0, 1, "AddV2", "i_switch:1", "step_in");
  Named("sum").add_input("^step_in");  // waits for more than the body
  EXPECT_FALSE(Count().has_value());
}

TEST_F(LoopCountTest, AStepThatWaitsIsNoStep) {
  AddSum("effect", {"i_switch:1"});
  Set(AddConst("late", {"^effect"}), "value", Tensor(int32_t{1}));
  Named("sum").set_input(1, "late");
  EXPECT_FALSE(Count().has_value());
}

TEST_F(LoopCountTest, OnlyACountFromZeroByOneCountsIterations) {
  Reset(1, 1, "AddV2", "i_switch:1", "step_in");
  EXPECT_FALSE(CountsIterations(*Count()));
  Reset(0, 2, "AddV2", "i_switch:1", "step_in");
  EXPECT_FALSE(CountsIterations(*Count()));
}

TEST_F(LoopCountTest, OriginFollowsIdentitiesConstantsAndVariablesThatNeverChange) {
  AddInvariant("x", DT_INT32);
  Named("x_enter").set_input(0, "copy");
  AddUnary("copy", "Identity", DT_INT32, {"limit"});
  AddUnary("again", "Identity", DT_INT32, {"x_switch:1"});
  EXPECT_EQ(Origin({Find("again"), 0}).node, Find("limit"));
  EXPECT_EQ(Origin({Find("limit_in"), 0}).node, Find("limit"));
  EXPECT_EQ(Origin({Find("i_switch"), 1}).node, Find("i_switch"));
  EXPECT_THAT(IntegerOf({Find("again"), 0}), Optional(10));
  EXPECT_EQ(IntegerOf({Find("sum"), 0}), std::nullopt);
}

TEST_F(LoopCountTest, AVectorIsReadAsIntegersAndAScalarAsOne) {
  Tensor pair(DT_INT64, {2});
  pair.vec<int64_t>()(0) = 3;
  pair.vec<int64_t>()(1) = -1;
  tensorflow::NodeDef& node = AddConst("pair", {});
  Set(node, "dtype", DT_INT64);
  Set(node, "value", pair);
  EXPECT_THAT(IntegersOf({Find("pair"), 0}), Optional(ElementsAre(3, -1)));
  EXPECT_EQ(IntegerOf({Find("pair"), 0}), std::nullopt);
  EXPECT_EQ(IntegersOf({Find("limit"), 0}), std::nullopt);
}

TEST_F(LoopCountTest, ALoopStopsAtTheLimitOfItsCount) { EXPECT_TRUE(StopsAtLimit()); }

TEST_F(LoopCountTest, AConjunctionStopsAtTheLimitOfOneOfItsConditions) {
  Placeholder("p", DT_BOOL);
  Add("both", "LogicalAnd", {"p", "less"});
  Named("cond").set_input(0, "both");
  EXPECT_TRUE(StopsAtLimit());
  Clear();
  Reset(0, 1, "AddV2", "i_switch:1", "step_in");
  Placeholder("p", DT_BOOL);
  Add("either", "LogicalOr", {"p", "less"});
  Named("cond").set_input(0, "either");
  EXPECT_FALSE(StopsAtLimit());
}

TEST_F(LoopCountTest, AnotherConditionOrCountDoesNotStopAtTheLimit) {
  Named("less").set_op("LessEqual");
  EXPECT_FALSE(StopsAtLimit());
  Reset(0, 2, "AddV2", "i_switch:1", "step_in");
  EXPECT_FALSE(StopsAtLimit());
  Reset(0, 1, "AddV2", "i_switch:1", "step_in");
  Named("less").set_input(0, "limit_in");
  Named("less").set_input(1, "i_merge");
  EXPECT_FALSE(StopsAtLimit());
}

}  // namespace
}  // namespace tensor_array_grad
