#include "cc/flow/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/frames_under_test.h"

namespace tensor_array_grad {
namespace {

using testing::UnorderedElementsAre;

class ConditionPartTest : public testing::Test, protected FramesUnderTest {
 protected:
  ConditionPartTest() {
    for (const char* name : {"start", "limit", "step"}) Placeholder(name, DT_INT32);
    AddCounter("i", "start", "limit", "step");
  }

  ConditionPart PartOfI() { return ConditionPartOf(FrameNamed("i")); }

  static std::vector<std::string> NamesOf(const ConditionPart& part) {
    std::vector<std::string> names;
    for (const tensorflow::Node* node : part.nodes) names.push_back(node->name());
    return names;
  }
};

TEST_F(ConditionPartTest, HasWhatLoopCondReadsAndNothingOfTheBody) {
  const ConditionPart part = PartOfI();
  EXPECT_THAT(NamesOf(part),
              UnorderedElementsAre("i_cond", "i_less", "i_merge", "i_enter", "i_limit"));
  EXPECT_TRUE(part.loops.empty());
}

TEST_F(ConditionPartTest, HasTheNodesForWhichLoopCondWaits) {
  Add("waited_for", "LoopTest>Probe", {"i_merge"});
  Named("i_less").add_input("^waited_for");
  EXPECT_THAT(NamesOf(PartOfI()), testing::Contains("waited_for"));
}

TEST_F(ConditionPartTest, HasAnInnerLoopWhoseResultLoopCondReads) {
  AddCounter("j", "i_merge", "i_limit", "i_one");
  Named("i_less").set_input(0, "j_exit");
  const ConditionPart part = PartOfI();
  EXPECT_THAT(part.loops, UnorderedElementsAre(&FrameNamed("j")));
  EXPECT_THAT(NamesOf(part), UnorderedElementsAre("i_cond", "i_less", "i_merge", "i_enter",
                                                  "i_limit", "i_one", "j_exit"));
}

}  // namespace
}  // namespace tensor_array_grad
