#include "cc/rewrite/rewrite_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cc/base/loop_record.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/loop_stack_under_test.h"

namespace tensor_array_grad {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// One line of `done`, and of the remarks.
GraphRemarks SomeRemarks() {
  GraphRemarks remarks;
  remarks.done = {
      {"accumulate_into_list", "x", "a_push"}, {"accumulate_into_list", "y, z", "a"},
      {"accumulate_into_list", "z", "a_pop"},  {"loop_stack", "b_push", "a_push"},
      {"loop_stack", "c_push", "a_push"},
  };
  remarks.missed = {{"slice_sum", "a_push", "it stays"}, {"slice_sum", "removed", "it stays too"}};
  return remarks;
}

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
  GraphRemarks remarks = SomeRemarks();
  SetLoops(*graph(), {}, &remarks);
  EXPECT_THAT(SummaryPerLoop(remarks), ElementsAre("outside of loops: accumulate_into_list 1",
                                                   "loop b: accumulate_into_list 1",
                                                   "loop f: accumulate_into_list 1, loop_stack 2"));
}

TEST_F(RewriteLogTest, NoRewriteGivesNoLine) {
  EXPECT_THAT(SummaryPerLoop({}), IsEmpty());
  EXPECT_THAT(LinePerRewrite({}), IsEmpty());
}

TEST_F(RewriteLogTest, EachRewriteAndRemarkNamesItsNodes) {
  GraphRemarks remarks = SomeRemarks();
  SetLoops(*graph(), {{"removed", "b"}, {"a_push", "of before"}}, &remarks);
  EXPECT_THAT(
      LinePerRewrite(remarks),
      ElementsAre("accumulate_into_list: x -> a_push", "accumulate_into_list: y, z -> a",
                  "accumulate_into_list: z -> a_pop", "loop_stack: b_push -> a_push",
                  "loop_stack: c_push -> a_push", "slice_sum missed a_push in loop f: it stays",
                  "slice_sum missed removed in loop b: it stays too"));
}

TEST_F(RewriteLogTest, ARemarkNamesTheNodeAndItsReadersOnce) {
  Outcome outcome;
  outcome.rule = "slice_sum";
  outcome.wants_remarks = true;
  const Node& node = *Find("a_pop");
  for (const char* text : {"$1 read $0", "$1 read $0", "$0 is large"}) {
    outcome.Missed(node, "it stays", {text, &node});
  }
  outcome.Missed(*Find("a"), "it stays", {"$0 is large", &node});
  outcome.Missed(node, "it stays", {});
  EXPECT_THAT(LinePerRewrite(outcome),
              ElementsAre("slice_sum missed a_pop: it stays, because `a_b_next`, `use_a` read "
                          "`a_pop`",
                          "slice_sum missed a_pop: it stays, because `a_pop` is large",
                          "slice_sum missed a: it stays, because `a_pop` is large"));
}

TEST_F(RewriteLogTest, NoRemarkIsMadeUnlessRemarksAreWanted) {
  Outcome outcome;
  outcome.Missed(*Find("a"), "it stays", {"$0 is large", Find("a")});
  EXPECT_THAT(outcome.missed, IsEmpty());
}

TEST_F(RewriteLogTest, RemarksAreWantedWhileLoopsAreWatched) {
  EXPECT_FALSE(AreRemarksWanted());
  WatchLoops(true);
  EXPECT_TRUE(AreRemarksWanted());
  WatchLoops(false);
}

class MarkLoopsTest : public testing::Test, protected FramesUnderTest {};

TEST_F(MarkLoopsTest, LoopsGetWhatIsKnownOfThem) {
  for (const char* name : {"zero", "ten", "step"}) Placeholder(name, tensorflow::DT_INT32);
  AddCounter("i", "zero", "ten", "step");
  AddCounter("j", "zero", "ten", "step");
  GraphRemarks remarks;
  remarks.done = {{"rule", "a, b", "i_plus"}, {"rule", "c", "zero"}};
  remarks.missed = {{"other", "i_less", "it stays"}};
  SetLoops(*graph(), {}, &remarks);
  MarkLoops(remarks, graph().get());
  std::vector<std::string> found;
  ASSERT_TRUE(TryGetNodeAttr(Find("i_cond")->attrs(), kRemarksOfLoop, &found));
  EXPECT_THAT(found, ElementsAre("rule", "i_plus", "", "other", "i_less", "it stays"));
  EXPECT_FALSE(TryGetNodeAttr(Find("j_cond")->attrs(), kRemarksOfLoop, &found));
}

}  // namespace
}  // namespace tensor_array_grad
