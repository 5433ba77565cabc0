#include "cc/flow/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using testing::UnorderedElementsAre;

class FrameConditionTest : public testing::Test, protected FramesUnderTest {
 protected:
  FrameConditionTest() {
    for (const char* name : {"start", "limit", "step"}) Placeholder(name, DT_INT32);
    AddCounter("i", "start", "limit", "step");
  }

  // The names of the nodes and inner loops that the condition of the loop `i` consists of.
  std::vector<std::string> ConditionOfI() {
    const absl::StatusOr<std::vector<Item>> order = OrderOf(FrameNamed("i"));
    EXPECT_OK(order.status());
    std::vector<std::string> names;
    for (const Item& item : *order) {
      if (!item.in_condition) continue;
      names.push_back(item.loop != nullptr ? item.loop->name : item.node->name());
    }
    return names;
  }
};

TEST_F(FrameConditionTest, HasWhatLoopCondReadsAndNothingOfTheBody) {
  EXPECT_THAT(ConditionOfI(), UnorderedElementsAre("i_cond", "i_less", "i_merge"));
}

TEST_F(FrameConditionTest, HasTheNodesForWhichLoopCondWaits) {
  Add("waited_for", "LoopTest>Probe", {"i_merge"});
  Named("i_less").add_input("^waited_for");
  EXPECT_THAT(ConditionOfI(), testing::Contains("waited_for"));
}

TEST_F(FrameConditionTest, HasAnInnerLoopWhoseResultLoopCondReads) {
  AddCounter("j", "i_merge", "i_limit", "i_one");
  Named("i_less").set_input(0, "j_exit");
  EXPECT_THAT(ConditionOfI(), UnorderedElementsAre("i_cond", "i_less", "i_merge", "j"));
}

}  // namespace
}  // namespace tensor_array_grad
