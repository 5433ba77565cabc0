#include "cc/rewrite/rewrite_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cc/testing/loop_stack_under_test.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Rewrites kRewrites = {
    {"accumulate_into_list", {{"x", "a_push"}, {"y, z", "a"}, {"z", "a_pop"}}},
    {"slice_sum", {}},
    {"loop_stack", {{"b_push", "a_push"}, {"c_push", "a_push"}}},
};

class RewriteLogTest : public testing::Test, protected LoopStackUnderTest {
 protected:
  RewriteLogTest() {
    Placeholder("goes_on", tensorflow::DT_BOOL);
    for (const std::string loop : {"f", "b"}) {
      AddConstantEnter(loop, loop + "_goes_on", "goes_on", tensorflow::DT_BOOL);
      Add(loop + "_cond", "LoopCond", {loop + "_goes_on"});
    }
    for (const char* name : {"shape", "bound", "minus_one"})
      Placeholder(name, tensorflow::DT_INT32);
    Placeholder("value", tensorflow::DT_FLOAT);
    AddConstantEnter("f", "x", "value", tensorflow::DT_FLOAT);
    AddConstantEnter("b", "any", "minus_one");
    AddPushedList("a", "x");
  }
};

TEST_F(RewriteLogTest, LineOfALoopCountsTheRewritesOfEachRule) {
  EXPECT_THAT(
      SummaryPerLoop(*graph(), kRewrites),
      ElementsAre("outside of loops: accumulate_into_list 1", "loop b: accumulate_into_list 1",
                  "loop f: accumulate_into_list 1, loop_stack 2"));
}

TEST_F(RewriteLogTest, NoRewriteGivesNoLine) {
  EXPECT_THAT(SummaryPerLoop(*graph(), {{"accumulate_into_list", {}}}), IsEmpty());
  EXPECT_THAT(LinePerRewrite({{"accumulate_into_list", {}}}), IsEmpty());
}

TEST_F(RewriteLogTest, EachRewriteNamesItsNodes) {
  EXPECT_THAT(LinePerRewrite(kRewrites),
              ElementsAre("accumulate_into_list: x -> a_push", "accumulate_into_list: y, z -> a",
                          "accumulate_into_list: z -> a_pop", "loop_stack: b_push -> a_push",
                          "loop_stack: c_push -> a_push"));
}

}  // namespace
}  // namespace tensor_array_grad
