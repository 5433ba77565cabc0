#include "cc/flow/loop_variable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/loop_under_test.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;

// A loop over the variables i and x; x never changes unless a test changes its update.
class LoopVariableTest : public testing::Test, protected LoopUnderTest {
 protected:
  LoopVariableTest() {
    AddLoop();
    AddInvariant("x", DT_FLOAT);
    AddUnary("constant", "Enter", DT_FLOAT, {"outside"});
    Set(Named("constant"), "frame_name", std::string("loop"));
    Set(Named("constant"), "is_constant", true);
    Placeholder("outside", DT_FLOAT);
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const LoopVariable& variable : LoopVariablesOf(*Find("cond"))) {
      names.push_back(variable.merge->name());
    }
    return names;
  }

  // The name of the output outside of the loop from which `node` gets its value; "" for none.
  std::string Outside(const std::string& node, int slot = 0) {
    const auto source = FromOutside({Find(node), slot});
    return source ? source->node->name() : "";
  }
};

TEST_F(LoopVariableTest, AVariableHasTheNodesThatLoweringMakes) {
  const auto found = LoopVariableOf(Find("x_switch"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->enter, Find("x_enter"));
  EXPECT_EQ(found->merge, Find("x_merge"));
  EXPECT_EQ(found->switch_node, Find("x_switch"));
  EXPECT_EQ(found->next, Find("x_next"));
  EXPECT_EQ(found->exit, Find("x_exit"));
  EXPECT_EQ(found->initial().node, Find("x"));
  EXPECT_TRUE((found->update() == Source{Find("x_switch"), 1}));
}

TEST_F(LoopVariableTest, AVariableMayHaveNoExit) {
  graph()->RemoveNode(Find("x_exit"));
  const auto found = LoopVariableOf(Find("x_switch"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->exit, nullptr);
}

TEST_F(LoopVariableTest, OtherSwitchesAreNoVariables) {
  Placeholder("p", DT_BOOL);
  AddUnary("other", "Switch", DT_FLOAT, {"x", "p"});
  AddUnary("of_no_merge", "Switch", DT_FLOAT, {"constant", "cond"});
  EXPECT_FALSE(LoopVariableOf(nullptr).has_value());
  EXPECT_FALSE(LoopVariableOf(Find("other")).has_value());
  EXPECT_FALSE(LoopVariableOf(Find("of_no_merge")).has_value());
  EXPECT_FALSE(LoopVariableOf(Find("x_merge")).has_value());
}

TEST_F(LoopVariableTest, AReaderOfTheEndThatIsNoExitMakesItNoVariable) {
  AddUnary("reader", "Identity", DT_FLOAT, {"x_switch"});
  EXPECT_FALSE(LoopVariableOf(Find("x_switch")).has_value());
}

TEST_F(LoopVariableTest, VariablesAreInTheOrderOfTheirNodes) {
  EXPECT_THAT(Names(), ElementsAre("i_merge", "x_merge"));
}

TEST_F(LoopVariableTest, ConstantsAndVariablesThatNeverChangeComeFromOutside) {
  AddUnary("copy", "Identity", DT_FLOAT, {"x_switch:1"});
  Named("x_next").set_input(0, "copy");
  EXPECT_EQ(Outside("constant"), "outside");
  EXPECT_EQ(Outside("x_switch", 1), "x");
  EXPECT_EQ(Outside("x_merge"), "x");
}

TEST_F(LoopVariableTest, WhatChangesOrLeavesTheLoopDoesNotComeFromOutside) {
  EXPECT_EQ(Outside("i_switch", 1), "");
  EXPECT_EQ(Outside("i_merge"), "");
  EXPECT_EQ(Outside("x_switch", 0), "");
  EXPECT_EQ(Outside("x_merge", 1), "");
  EXPECT_EQ(Outside("i_plus"), "");
}

TEST_F(LoopVariableTest, APivotIsAnIdentityOfTheBodyAlone) {
  AddUnary("end", "Identity", DT_INT32, {"i_switch"});
  AddUnary("waits", "Identity", DT_INT32, {"i_switch:1", "^one"});
  AddUnary("later", "Identity", DT_INT32, {"i_plus"});
  const Node& cond = *Find("cond");
  EXPECT_TRUE(IsBodyPivot(*Find("pivot"), cond));
  for (const char* node : {"end", "waits", "later", "i_switch"}) {
    EXPECT_FALSE(IsBodyPivot(*Find(node), cond)) << node;
  }
}

TEST_F(LoopVariableTest, ANodeMayWaitForPivotsOnly) {
  AddSum("free", {"i_switch:1"});
  AddSum("after_pivot", {"i_switch:1", "^pivot"});
  AddSum("after_more", {"i_switch:1", "^pivot", "^one"});
  const Node& cond = *Find("cond");
  EXPECT_TRUE(WaitsForBodyAlone(*Find("free"), cond));
  EXPECT_TRUE(WaitsForBodyAlone(*Find("after_pivot"), cond));
  EXPECT_FALSE(WaitsForBodyAlone(*Find("after_more"), cond));
}

TEST_F(LoopVariableTest, AllNodesMustBeOnOneDevice) {
  Named("x_exit").set_device(kCpu1);
  EXPECT_FALSE(IsOnOneDevice(*LoopVariableOf(Find("x_switch"))));
  EXPECT_TRUE(IsOnOneDevice(*LoopVariableOf(Find("i_switch"))));
}

TEST_F(LoopVariableTest, TheMergeOfAVariableHasAnEnterAndANextIteration) {
  const auto found = LoopMergeOf(*Find("x_merge"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->enter, Find("x_enter"));
  EXPECT_EQ(found->next, Find("x_next"));
  EXPECT_FALSE(LoopMergeOf(*Find("x_switch")).has_value());
}

TEST_F(LoopVariableTest, ConstantsAndOtherMergesFeedNoVariable) {
  Named("x_merge").set_input(0, "constant");
  Set(AddUnary("of_one", "Merge", DT_FLOAT, {"x_switch:1", "x_switch:1"}), "N", 2);
  EXPECT_FALSE(LoopMergeOf(*Find("x_merge")).has_value());
  EXPECT_FALSE(LoopMergeOf(*Find("of_one")).has_value());
}

TEST_F(LoopVariableTest, TheBodyIsWhatTheSwitchesFeed) {
  const NodeIds body = BodyOf(LoopVariablesOf(*Find("cond")));
  for (const char* node : {"i_switch", "pivot", "one", "i_plus"}) {
    EXPECT_EQ(body.count(Find(node)->id()), 1u) << node;
  }
  EXPECT_EQ(body.count(Find("i_next")->id()), 0u) << "leads to the next iteration";
  EXPECT_EQ(body.count(Find("less")->id()), 0u) << "in the condition";
  EXPECT_EQ(body.count(Find("constant")->id()), 0u);
}

}  // namespace
}  // namespace tensor_array_grad
