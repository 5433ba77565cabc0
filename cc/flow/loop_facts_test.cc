#include "cc/flow/loop_facts.h"

#include <gtest/gtest.h>

#include <string>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/frames_under_test.h"

namespace tensor_array_grad {
namespace {

// A loop with the names that TensorFlow gives when it lowers the While op "loop".
class LoopFactsTest : public testing::Test, protected FramesUnderTest {
 protected:
  LoopFactsTest() {
    for (const char* name : {"zero", "ten", "step"}) Placeholder(name, DT_INT32);
    Set(AddUnary("enter", "Enter", DT_INT32, {"zero"}), "frame_name", "loop");
    AddMerge("merge", DT_INT32, {"enter", "next"});
    AddUnary("switch", "Switch", DT_INT32, {"merge", "loop/LoopCond/_3"});
    AddUnary("next", "NextIteration", DT_INT32, {"loop/body/_1/add"});
    AddUnary("exit", "Exit", DT_INT32, {"switch"});
    AddConstantOf("loop", "limit", DT_INT32, "ten");
    AddConstantOf("loop", "one", DT_INT32, "step");
    Inlined(AddBinary("loop/cond/_0/less", "Less", DT_INT32, {"merge", "limit"}), "test", "less");
    Add("loop/LoopCond/_3", "LoopCond", {"loop/cond/_0/less"});
    Inlined(AddBinary("loop/body/_1/add", "AddV2", DT_INT32, {"switch:1", "one"}), "body", "add");
    AddUnary("loop/body/_1/merged", "Identity", DT_INT32, {"loop/body/_1/add"});
    Inlined(AddUnary("loop/body/_1/call/neg", "Neg", DT_INT32, {"loop/body/_1/add"}), "called",
            "neg");
  }

  static void Inlined(NodeDef& node, const std::string& function, const std::string& name) {
    node.mutable_experimental_debug_info()->add_original_func_names(function);
    node.mutable_experimental_debug_info()->add_original_node_names(name);
  }
};

TEST_F(LoopFactsTest, FindsTheFunctionsOfALoop) {
  const introspection::Loop facts = FactsOf(FrameNamed("loop"));
  EXPECT_EQ(facts.name, "loop");
  EXPECT_EQ(facts.body.first, "body");
  EXPECT_EQ(facts.body.second, "add");
  EXPECT_EQ(facts.condition.first, "test");
  EXPECT_EQ(facts.condition.second, "less");
  EXPECT_EQ(facts.python.second, "");
}

TEST_F(LoopFactsTest, FindsWhereTheProgramMadeANode) {
  const Frame& loop = FrameNamed("loop");
  EXPECT_EQ(OriginOf("loop/body/_1/call/neg", loop).first, "called");
  EXPECT_EQ(OriginOf("loop/body/_1/merged", loop).first, "body");  // by its name only
  EXPECT_EQ(OriginOf("loop/body/_1/merged", loop).second, "merged");
  EXPECT_EQ(OriginOf("elsewhere", loop).first, "");
  EXPECT_EQ(OriginOf("elsewhere", loop).second, "elsewhere");
  EXPECT_EQ(OriginOf("", loop).second, "");
}

}  // namespace
}  // namespace tensor_array_grad
