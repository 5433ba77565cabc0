#include "cc/graph/hoist_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cc/testing/loop_under_test.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DT_INT32;
using tensorflow::DT_VARIANT;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Stands for the kernel that the rule asks for: on CPU alone, so that a GPU has none.
class NeverRun : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(tensorflow::OpKernelContext*) override {}
};
REGISTER_KERNEL_BUILDER(Name("Enter").Device(tensorflow::DEVICE_CPU), NeverRun);

// A loop with the variables i and list, and the consts `limit` of its condition, `one` of its body.
class HoistRuleTest : public testing::Test, protected LoopUnderTest {
 protected:
  HoistRuleTest() { Reset(); }

  void Reset() {
    Clear();
    AddLoop();
    AddVariable("list", DT_VARIANT, "list_gate:1");
  }

  int Apply() {
    std::vector<Rewrite> done;
    EXPECT_TRUE(HoistRule().Apply(Find("cond"), graph().get(), &done).ok());
    return static_cast<int>(done.size());
  }

  // The name of the Enter that `name` feeds.
  std::string EnterOf(const std::string& name) {
    for (const tensorflow::Node* reader : Find(name)->out_nodes()) {
      if (reader->IsEnter()) return reader->name();
    }
    return "no enter of " + name;
  }

  // Applies the rule to the loop with that change, which keeps it from `one`. The other is taken.
  void ExpectKept(const std::function<void()>& change) {
    Reset();
    change();
    EXPECT_EQ(Apply(), 1);
    EXPECT_EQ(EnterOf("one"), "no enter of one");
  }
};

TEST_F(HoistRuleTest, AConstOfTheBodyEntersTheLoopOnce) {
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("one"), ElementsAre("^i"));
  EXPECT_THAT(InputsOf("i_plus"), ElementsAre("i_gate", EnterOf("one")));
}

TEST_F(HoistRuleTest, AConstOfTheConditionEntersTheLoopOnce) {
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("limit"), ElementsAre("^i"));
  EXPECT_THAT(InputsOf("less"), ElementsAre("i_merge", EnterOf("limit")));
}

TEST_F(HoistRuleTest, TheEnterIsAConstantOfTheSameFrameOnTheSameDevice) {
  for (const char* enter : {"i_enter", "list_enter"}) Set(Named(enter), "parallel_iterations", 3);
  EXPECT_EQ(Apply(), 2);
  const tensorflow::Node* const enter = Find(EnterOf("one"));
  ASSERT_NE(enter, nullptr);
  bool constant = false;
  std::string frame;
  int parallel = 0;
  EXPECT_TRUE(TryGetNodeAttr(enter->attrs(), "is_constant", &constant) && constant);
  EXPECT_TRUE(TryGetNodeAttr(enter->attrs(), "frame_name", &frame));
  EXPECT_TRUE(TryGetNodeAttr(enter->attrs(), "parallel_iterations", &parallel));
  EXPECT_EQ(frame, "loop");
  EXPECT_EQ(parallel, 3);
  EXPECT_EQ(enter->assigned_device_name(), kCpu0);
}

TEST_F(HoistRuleTest, AConsumerOfNothingElseWaitsForTheBody) {
  AddSum("reader", {"one", "one"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("reader"), ElementsAre(EnterOf("one"), EnterOf("one"), "^gate"));
}

TEST_F(HoistRuleTest, AConsumerOfConstsAloneWaitsForTheBody) {
  AddConst("two", {"^gate"});
  AddSum("reader", {"one", "two"});
  AddSum("behind", {"reader", "two"});
  EXPECT_EQ(Apply(), 3);
  EXPECT_THAT(InputsOf("reader"), ElementsAre(EnterOf("one"), EnterOf("two"), "^gate"));
  EXPECT_THAT(InputsOf("behind"), ElementsAre("reader", EnterOf("two")));
}

TEST_F(HoistRuleTest, AConsumerInTheConditionOfNothingElseWaitsForTheMerge) {
  AddSum("reader", {"limit"});
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("reader"), ElementsAre(EnterOf("limit"), "^i_merge"));
}

TEST_F(HoistRuleTest, AConsumerInTheBodyIsNotHeldByTheConditionAlone) {
  AddSum("reader", {"one", "^i_merge"});  // the merge is alive in the last step, the body is not
  EXPECT_EQ(Apply(), 2);
  EXPECT_THAT(InputsOf("reader"), UnorderedElementsAre(EnterOf("one"), "^i_merge", "^gate"));
}

TEST_F(HoistRuleTest, AConstOfAnInnerLoopEntersItFromTheOuterBody) {
  Set(AddUnary("inner_enter", "Enter", DT_VARIANT, {"made"}), "frame_name", "inner");
  AddUnary("made", "Identity", DT_VARIANT, {"list_gate:1", "^gate"});
  Set(AddUnary("inner_merge", "Merge", DT_VARIANT, {"inner_enter", "inner_next"}), "N", 2);
  Add("inner_bool", "Placeholder", {});
  Set(Named("inner_bool"), "dtype", tensorflow::DT_BOOL);
  Add("inner_cond", "LoopCond", {"inner_bool"});
  AddUnary("inner_gate", "Switch", DT_VARIANT, {"inner_merge", "inner_cond"});
  AddUnary("inner_body", "Identity", DT_VARIANT, {"inner_gate:1"});
  AddConst("inner_const", {"^inner_body"});
  AddSum("inner_sum", {"inner_const", "^inner_body"});
  AddUnary("inner_next", "NextIteration", DT_VARIANT, {"inner_gate:1", "^inner_sum"});
  std::vector<Rewrite> done;
  ASSERT_TRUE(HoistRule().Apply(Find("inner_cond"), graph().get(), &done).ok());
  EXPECT_EQ(done.size(), 1u);
  EXPECT_THAT(InputsOf("inner_const"), ElementsAre("^made"));
}

// ---- near misses: the Const `one` must stay as it is

TEST_F(HoistRuleTest, ALoopWithoutAListIsLeftAlone) {
  Clear();
  AddLoop();
  EXPECT_EQ(Apply(), 0);
}

TEST_F(HoistRuleTest, AListThatIsAConstantOfTheLoopIsAList) {
  Clear();
  AddLoop();
  Placeholder("list", DT_VARIANT);
  Set(AddUnary("list_enter", "Enter", DT_VARIANT, {"list"}), "frame_name", "loop");
  EXPECT_EQ(Apply(), 2);
}

TEST_F(HoistRuleTest, AConstThatWaitsForAnythingElseStays) {
  ExpectKept([&] {
    AddUnary("pivot", "Identity", DT_INT32, {"i_plus"});
    Named("one").set_input(0, "^pivot");
    Named("i_plus").set_input(1, "i_gate:1");
    AddSum("reader", {"one"});
  });
}

TEST_F(HoistRuleTest, AConstThatSomebodyWaitsForStays) {
  ExpectKept([&] { Add("waiter", "NoOp", {"^one"}); });
}

TEST_F(HoistRuleTest, AConstThatControlFlowReadsStays) {
  ExpectKept([&] { Set(AddUnary("r", "Merge", DT_INT32, {"one", "i_plus"}), "N", 2); });
  ExpectKept([&] { AddUnary("r", "Switch", DT_INT32, {"one", "less"}); });
  ExpectKept([&] { AddUnary("r", "NextIteration", DT_INT32, {"one"}); });
  ExpectKept([&] { AddUnary("r", "Exit", DT_INT32, {"one"}); });
  Reset();
  Set(AddUnary("r", "Enter", DT_INT32, {"one"}), "frame_name", "inner");
  EXPECT_EQ(Apply(), 1);
  EXPECT_THAT(InputsOf("r"), ElementsAre("one"));
  EXPECT_THAT(InputsOf("one"), ElementsAre("^gate"));
}

TEST_F(HoistRuleTest, AConstThatAnotherDeviceReadsStays) {
  ExpectKept([&] {
    AddSum("reader", {"one"});
    Named("reader").set_device(kCpu1);
  });
}

TEST_F(HoistRuleTest, AConstWithoutAVariableToStartFromStays) {
  for (const char* name : {"i", "list"}) Named(name).set_device(kCpu1);
  EXPECT_EQ(Apply(), 0);
  Reset();
  for (const char* name : {"i", "list"}) {
    const auto type = name[0] == 'i' ? DT_INT32 : DT_VARIANT;
    const std::string outer = std::string(name) + "_outer";
    Set(AddUnary(outer, "Enter", type, {name}), "frame_name", "outer");
    Named(std::string(name) + "_enter").set_input(0, outer);
  }
  EXPECT_EQ(Apply(), 0);
}

TEST_F(HoistRuleTest, ADeviceWithoutTheKernelIsLeftAlone) {
  ExpectKept([&] {
    for (const char* name : {"list", "one", "i_plus"}) Named(name).set_device(kGpu0);
  });
}

}  // namespace
}  // namespace tensor_array_grad
