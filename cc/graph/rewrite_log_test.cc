#include "cc/graph/rewrite_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cc/testing/accumulators_under_test.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Rewrites kRewrites = {
    {"accumulate", {{"x", "a_push"}, {"y, z", "a"}, {"z", "a_pop"}}},
    {"slice_sum", {}},
    {"accumulators", {{"b_push", "a_push"}, {"c_push", "a_push"}}},
};

class RewriteLogTest : public testing::Test, protected AccumulatorsUnderTest {
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
    AddAccumulator("a", "x");
  }
};

TEST_F(RewriteLogTest, ALoopsLineCountsTheRewritesOfEachRule) {
  EXPECT_THAT(SummaryPerLoop(*graph(), kRewrites),
              ElementsAre("outside of loops: accumulate 1", "loop b: accumulate 1",
                          "loop f: accumulate 1, accumulators 2"));
}

TEST_F(RewriteLogTest, NothingDoneIsNoLine) {
  EXPECT_THAT(SummaryPerLoop(*graph(), {{"accumulate", {}}}), IsEmpty());
  EXPECT_THAT(LinePerRewrite({{"accumulate", {}}}), IsEmpty());
}

TEST_F(RewriteLogTest, EachRewriteNamesItsNodes) {
  EXPECT_THAT(
      LinePerRewrite(kRewrites),
      ElementsAre("accumulate: x -> a_push", "accumulate: y, z -> a", "accumulate: z -> a_pop",
                  "accumulators: b_push -> a_push", "accumulators: c_push -> a_push"));
}

}  // namespace
}  // namespace tensor_array_grad
