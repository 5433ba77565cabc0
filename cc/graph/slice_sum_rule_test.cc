#include "cc/graph/slice_sum_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cc/testing/graph_under_test.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::Node;
using tensorflow::NodeDef;
using testing::ElementsAre;

constexpr char kAddSlices[] = "TensorArrayGrad>AddSlices";

REGISTER_KERNEL_BUILDER(Name(kAddSlices).Device(tensorflow::DEVICE_CPU), NeverRun);

class SliceSumRuleTest : public testing::Test, protected GraphUnderTest {
 protected:
  SliceSumRuleTest() {
    Clear();
    for (const char* name : {"a", "b", "dy", "rows"}) Placeholder(name, DT_FLOAT);
    for (const char* name : {"paddings", "ids", "n", "perm", "shape"}) {
      Placeholder(name, DT_INT32);
    }
    AddPad("g");
    AddPad("h");
  }

  void AddPad(const std::string& name) {
    NodeDef& pad = Add(name, "Pad", {"dy", "paddings"});
    Set(pad, "T", DT_FLOAT);
    Set(pad, "Tpaddings", DT_INT32);
  }

  NodeDef& AddOf(const std::string& name, const std::string& op, std::vector<std::string> inputs) {
    NodeDef& node = Add(name, op, std::move(inputs));
    Set(node, "T", DT_FLOAT);
    return node;
  }

  int Apply(std::vector<std::string> operands) {
    const int n = static_cast<int>(operands.size());
    Set(AddOf("sum", "AddN", std::move(operands)), "N", n);
    AddOf("use", "Identity", {"sum"});
    std::vector<Rewrite> done;
    EXPECT_TRUE(SliceSumRule().Apply(Find("sum"), graph().get(), &done).ok());
    return static_cast<int>(done.size());
  }

  int64_t Before(const std::string& name) { return Find(name)->attrs().Find("before")->i(); }
};

TEST_F(SliceSumRuleTest, OneOpAddsTheSlices) {
  EXPECT_EQ(Apply({"a", "g", "h"}), 2);
  EXPECT_EQ(Find("sum")->type_string(), kAddSlices);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "dy", "paddings", "dy", "paddings"));
  EXPECT_EQ(Before("sum"), 0);
  EXPECT_EQ(Find("g"), nullptr);
  EXPECT_EQ(Find("h"), nullptr);
}

TEST_F(SliceSumRuleTest, SlicesBeforeTheFirstOtherOperandAreCounted) {
  EXPECT_EQ(Apply({"g", "h", "a"}), 2);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "dy", "paddings", "dy", "paddings"));
  EXPECT_EQ(Before("sum"), 2);
}

TEST_F(SliceSumRuleTest, TheOrderOfTheSumStays) {
  EXPECT_EQ(Apply({"a", "g", "b"}), 1);
  EXPECT_EQ(Find("sum")->type_string(), "AddN");
  const std::vector<std::string> inputs = InputsOf("sum");
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[1], "b");
  EXPECT_EQ(Find(inputs[0])->type_string(), kAddSlices);
}

TEST_F(SliceSumRuleTest, ASumThatMayBeginWithItsThirdOperandIsLeftAlone) {
  EXPECT_EQ(Apply({"a", "b", "g"}), 0);
  EXPECT_EQ(Find("sum")->type_string(), "AddN");
}

TEST_F(SliceSumRuleTest, OfSlicesAloneTheFirstStaysAsItIs) {
  EXPECT_EQ(Apply({"g", "h"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("g", "dy", "paddings"));
}

TEST_F(SliceSumRuleTest, SegmentsMayComeThroughTransposeAndReshape) {
  NodeDef& segments = AddOf("segments", "UnsortedSegmentSum", {"rows", "ids", "n"});
  Set(segments, "Tindices", DT_INT32);
  Set(segments, "Tnumsegments", DT_INT32);
  Set(AddOf("turned", "Transpose", {"segments", "perm"}), "Tperm", DT_INT32);
  Set(AddOf("shaped", "Reshape", {"turned", "shape"}), "Tshape", DT_INT32);
  EXPECT_EQ(Apply({"a", "shaped"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "rows", "ids", "n", "perm", "shape"));
}

TEST_F(SliceSumRuleTest, WhatSomebodyElseReadsStays) {
  AddOf("other", "Identity", {"g"});
  EXPECT_EQ(Apply({"a", "g"}), 0);
  EXPECT_EQ(Find("sum")->type_string(), "AddN");
}

TEST_F(SliceSumRuleTest, WhatTheSliceWaitsForIsWaitedFor) {
  AddOf("first", "Identity", {"b"});
  Named("g").add_input("^first");
  EXPECT_EQ(Apply({"a", "g"}), 1);
  EXPECT_THAT(InputsOf("sum"), ElementsAre("a", "dy", "paddings", "^first"));
}

TEST_F(SliceSumRuleTest, SumsOfMoreThanEightAreLeftAlone) {
  EXPECT_EQ(Apply({"a", "b", "b", "b", "b", "b", "b", "b", "g"}), 0);
}

TEST_F(SliceSumRuleTest, ReshapedPaddingIsLeftAlone) {
  Set(AddOf("shaped", "Reshape", {"g", "shape"}), "Tshape", DT_INT32);
  EXPECT_EQ(Apply({"a", "shaped"}), 0);
}

TEST_F(SliceSumRuleTest, OtherDevicesAreLeftAlone) {
  Named("g").set_device(kCpu1);
  EXPECT_EQ(Apply({"a", "g"}), 0);
}

}  // namespace
}  // namespace tensor_array_grad
