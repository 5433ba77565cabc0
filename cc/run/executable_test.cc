#include "cc/run/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/loop_runner.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

using testing::SizeIs;

REGISTER_OP("ExecutableTest>Check").Input("x: int32");
REGISTER_KERNEL_BUILDER(Name("ExecutableTest>Check").Device(tensorflow::DEVICE_CPU), NeverRun);
REGISTER_KERNEL_BUILDER(Name("ReadVariableOp").Device(tensorflow::DEVICE_CPU), NeverRun);

class ExecutableTest : public testing::Test, protected FramesUnderTest {
 protected:
  ExecutableTest() {
    for (const char* name : {"start", "limit", "step"}) Placeholder(name, DT_INT32);
    AddCounter("i", "start", "limit", "step");
  }

  LoopRunner runner_;
};

TEST_F(ExecutableTest, EveryInstructionHasItsKernel) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  ASSERT_OK(runner_.PrepareLoop(*this, "i"));
  const Executable& executable = runner_.executable();
  ASSERT_THAT(executable.kernels, SizeIs(executable.program.nodes.size()));
  for (const LoopCode& code : executable.program.loops) {
    for (const auto* part : {&code.condition, &code.body}) {
      for (const Instruction& instruction : *part) {
        const NodeKernel& node = executable.kernels[instruction.node];
        EXPECT_EQ(node.kernel != nullptr, instruction.action == Instruction::kKernel);
        EXPECT_EQ(node.small != nullptr, instruction.action == Instruction::kKernel);
      }
    }
  }
  EXPECT_THAT(executable.register_of_arg, SizeIs(3));
  EXPECT_EQ(executable.parallel_iterations, 10);
}

// Two recurrences that do not read each other, and a counter.
class RecurrencesTest : public ExecutableTest {
 protected:
  RecurrencesTest() {
    for (const char* name : {"a", "b"}) {
      const std::string step = absl::StrCat(name, "_step");
      Placeholder(absl::StrCat(name, "0"), DT_FLOAT);
      AddVariableOf("i", name, DT_FLOAT, absl::StrCat(name, "0"), step);
      Add(step, "LoopTest>AddOneInPlace", {absl::StrCat(name, "_switch:1")});
    }
  }

  void ExpectKept(bool half) {
    ASSERT_OK(runner_.PrepareLoop(*this, "i"));
    ASSERT_NE(runner_.executable().trailing, nullptr);
    EXPECT_EQ(runner_.executable().trailing->keeps_half, half);
    EXPECT_THAT(runner_.executable().trailing->body, SizeIs(half ? 1 : 2));
  }
};

TEST_F(RecurrencesTest, TheMainThreadKeepsOneOfTwo) { ExpectKept(true); }

TEST_F(RecurrencesTest, ACheckAVariableAndAConditionalOnANumberAreLight) {
  Add("check", "ExecutableTest>Check", {"i_switch:1"});
  Placeholder("v", tensorflow::DT_RESOURCE);
  AddConstantOf("i", "variable", tensorflow::DT_RESOURCE, "v");
  Set(Add("read", "ReadVariableOp", {"variable"}), "dtype", DT_FLOAT);
  Placeholder("p", tensorflow::DT_BOOL);
  AddConstantOf("i", "p_in", tensorflow::DT_BOOL, "p");
  AddUnary("side", "Switch", DT_INT32, {"i_switch:1", "p_in"});
  AddMerge("merged", DT_INT32, {"side", "side:1"});
  Named("i_plus").set_input(0, "merged");
  ExpectKept(true);
}

TEST_F(RecurrencesTest, AnInnerLoopIsWork) {
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  Named("i_plus").set_input(0, "j_exit");
  ExpectKept(false);
}

TEST_F(ExecutableTest, ParallelIterationsAreThoseOfTheLoop) {
  for (const char* enter : {"i_enter", "i_limit", "i_one"}) {
    Set(Named(enter), "parallel_iterations", 3);
  }
  ASSERT_OK(runner_.PrepareLoop(*this, "i"));
  EXPECT_EQ(runner_.executable().parallel_iterations, 3);
}

TEST_F(ExecutableTest, OutputsRequiredAreThoseThatAreRead) {
  Add("pair", "LoopTest>Pair", {"i_switch:1"});
  AddUnary("reader", "Identity", tensorflow::DT_BOOL, {"pair:1"});
  ASSERT_OK(runner_.PrepareLoop(*this, "i"));
  const Executable& executable = runner_.executable();
  EXPECT_EQ(executable.most_outputs, 2);
  for (const Instruction& instruction : executable.program.loops[0].body) {
    const NodeKernel& node = executable.kernels[instruction.node];
    if (node.kernel->name() != "pair") continue;
    EXPECT_FALSE(node.outputs_required[0]);
    EXPECT_TRUE(node.outputs_required[1]);
  }
}

TEST_F(ExecutableTest, NodesWithNamesThatTensorFlowReservesAreAccepted) {
  Add("_reserved", "LoopTest>Pair", {"i_switch:1"});
  ASSERT_OK(runner_.PrepareLoop(*this, "i"));
}

TEST_F(ExecutableTest, LoopOfAnOpWithoutKernelIsRejected) {
  Add("unknown", "LoopTest>WithoutKernel", {"i_switch:1"});
  EXPECT_THAT(runner_.PrepareLoop(*this, "i"),
              Fails(absl::StatusCode::kFailedPrecondition, "no kernel: unknown: "));
}

TEST_F(ExecutableTest, LoopOfAnAsynchronousKernelIsRejected) {
  Add("later", "LoopTest>Later", {"i_switch:1"});
  EXPECT_THAT(
      runner_.PrepareLoop(*this, "i"),
      Fails(absl::StatusCode::kFailedPrecondition, "asynchronous kernel: later (LoopTest>Later)"));
}

TEST_F(ExecutableTest, AttributeThatIsNotAGraphIsRejected) {
  EXPECT_THAT(
      runner_.PrepareFrame("no graph", {}).status(),
      Fails(absl::StatusCode::kInvalidArgument, "frame of RunLoop is no GraphDef, but 8 other"));
}

// Changes the frame of the loop i, whose _Args are those of i, limit and step.
class ContradictionTest : public ExecutableTest {
 protected:
  using Change = std::function<void(tensorflow::NodeDef*)>;

  // Expects that the frame with each node changed by `change` contradicts the op's three inputs.
  void ExpectError(const Change& change, const std::string& error) {
    ExpectError(change, {{DT_INT32, DT_INT32, DT_INT32}, 1}, error);
  }
  void ExpectError(const Change& change, const LoopInputs& inputs, const std::string& error) {
    tensorflow::GraphDef def = Frame();
    for (tensorflow::NodeDef& node : *def.mutable_node()) change(&node);
    EXPECT_THAT(runner_.PrepareFrame(def.SerializeAsString(), inputs).status(),
                Fails(absl::StatusCode::kInvalidArgument,
                      absl::StrCat("The attribute frame of RunLoop has ", error)));
  }

  // Sets the `index` of the _Arg with the index `from`.
  static Change Renumber(int from, int to) {
    return [=](tensorflow::NodeDef* node) {
      if (node->op() != "_Arg" || node->attr().at("index").i() != from) return;
      (*node->mutable_attr())["index"].set_i(to);
    };
  }

  static void Nothing(tensorflow::NodeDef*) {}

  // The frame that InsertRunLoop makes.
  tensorflow::GraphDef Frame() {
    if (frame_.empty()) {
      EXPECT_OK(InsertRunLoop(FrameNamed("i"), /*record=*/0, /*in_session=*/false, graph().get()));
      for (const tensorflow::Node* node : graph()->op_nodes()) {
        TryGetNodeAttr(node->attrs(), "frame", &frame_);
      }
    }
    tensorflow::GraphDef def;
    EXPECT_TRUE(def.ParseFromString(frame_));
    return def;
  }

 private:
  std::string frame_;
};

TEST_F(ContradictionTest, NumberOfArgumentsMustBeThatOfTheInputs) {
  ExpectError(Nothing, {{DT_INT32, DT_INT32, DT_INT32, DT_INT32}, 1},
              "no _Arg of index 3, but the op has 4 inputs");
  ExpectError(Nothing, {{DT_INT32, DT_INT32}, 1},
              "an _Arg 'tensor_array_grad_argument_2' of index 2");
  ExpectError(Renumber(1, 2), "two _Args of index 2, ");
  ExpectError(Renumber(1, -1),
              "an _Arg 'tensor_array_grad_argument_1' of index -1, but the op has 3");
}

TEST_F(ContradictionTest, DtypesMustBeThoseOfTheInputs) {
  ExpectError(Nothing, {{DT_INT32, DT_FLOAT, DT_INT32}, 1},
              "an _Arg 'tensor_array_grad_argument_1' of int32, but input 1 of the op is float");
}

TEST_F(ContradictionTest, VariablesMustBeTheFirstInputs) {
  const LoopInputs two_variables{{DT_INT32, DT_INT32, DT_INT32}, 2};
  ExpectError(Nothing, two_variables, "an Enter 'i_limit' of a constant, which is input 1, but");
  const auto swap = [](tensorflow::NodeDef* node) {
    if (node->op() != "_Arg") return;
    const int64_t index = node->attr().at("index").i();
    (*node->mutable_attr())["index"].set_i(2 - index);
  };
  ExpectError(swap, "an Enter 'i_enter' of a variable, which is input 2, but the first 1 inputs");
}

TEST_F(ContradictionTest, EachInputNeedsAnEnter) {
  const auto share = [](tensorflow::NodeDef* node) {
    if (node->name() == "i_one") *node->mutable_input(0) = "tensor_array_grad_argument_1";
  };
  ExpectError(share, "two Enters of input 1, 'i_limit' and 'i_one'");
}

TEST_F(ContradictionTest, AnEnterMustNotWait) {
  const auto wait = [](tensorflow::NodeDef* node) {
    if (node->name() == "i_one") node->add_input("^i_exit");
  };
  ExpectError(wait, "an Enter 'i_one' that waits for 'i_exit', but ");
}

// TensorFlow's ConvertGraphDefToGraph would end the process.
TEST_F(ContradictionTest, MergeOfThreeInputsInAFrameIsRejected) {
  tensorflow::GraphDef def = Frame();
  for (tensorflow::NodeDef& node : *def.mutable_node()) {
    if (node.name() != "i_merge") continue;
    node.add_input("i_limit");
    Set(node, "N", 3);
  }
  EXPECT_THAT(runner_.PrepareFrame(def.SerializeAsString(), {}).status(),
              Fails(absl::StatusCode::kFailedPrecondition,
                    "unsupported frame: Merge 'i_merge' has 2 inputs beside a NextIteration"));
}

TEST_F(ContradictionTest, MergeOfMoreInputsThanMemoryHoldsIsRejected) {
  tensorflow::GraphDef def = Frame();
  for (tensorflow::NodeDef& node : *def.mutable_node()) {
    if (node.name() == "i_merge") Set(node, "N", 2147483647);
  }
  EXPECT_THAT(runner_.PrepareFrame(def.SerializeAsString(), {}).status(),
              Fails(absl::StatusCode::kFailedPrecondition,
                    "unsupported frame: 'i_merge' has an attribute"));
}

TEST_F(ContradictionTest, NodeWithoutAnInputInAFrameIsRejected) {
  tensorflow::GraphDef def = Frame();
  for (tensorflow::NodeDef& node : *def.mutable_node()) {
    if (node.name() == "i_limit") node.clear_input();
  }
  EXPECT_THAT(
      runner_.PrepareFrame(def.SerializeAsString(), {}).status(),
      Fails(absl::StatusCode::kFailedPrecondition, "unsupported frame: 'i_limit' has no input 0"));
}

TEST_F(ContradictionTest, MarksOfInlinedCallsInAFrameAreForgotten) {
  tensorflow::GraphDef def = Frame();
  for (tensorflow::NodeDef& node : *def.mutable_node()) {
    Set(node, "_tensor_array_grad_inlined_call", 7);
  }
  const LoopInputs inputs{{DT_INT32, DT_INT32, DT_INT32}, 1};
  const auto made = runner_.PrepareFrame(def.SerializeAsString(), inputs);
  ASSERT_OK(made.status());
  for (const Node* node : (*made)->program.nodes) {
    EXPECT_FALSE(HasNodeAttr(node->def(), "_tensor_array_grad_inlined_call")) << node->name();
  }
}

TEST_F(ExecutableTest, MarksOfKnownValuesSayWhatTheInputsMustBe) {
  for (const char* name : {"p0", "q0"}) Placeholder(name, DT_BOOL);
  AddConstantOf("i", "p", DT_BOOL, "p0");
  AddConstantOf("i", "q", DT_BOOL, "q0");
  Set(Named("q"), "_tensor_array_grad_known_value", 0);
  AddCounter("j", "i_switch:1", "i_limit", "i_one");
  AddConstantOf("j", "p_in_j", DT_BOOL, "p");
  Set(Named("p_in_j"), "_tensor_array_grad_known_value", 1);
  ASSERT_OK(runner_.PrepareLoop(*this, "i"));
  const auto& known = runner_.executable().known_inputs;
  ASSERT_THAT(known, SizeIs(1));
  EXPECT_EQ(runner_.inputs()[known[0].first], "q0");
  EXPECT_EQ(known[0].second, 0);
  for (const Node* node : runner_.executable().graph->op_nodes()) {
    if (node->name() == "q") continue;
    EXPECT_EQ(node->attrs().Find("_tensor_array_grad_known_value"), nullptr) << node->name();
  }
}

TEST_F(ExecutableTest, GraphWithoutLoopIsRejected) {
  EXPECT_THAT(
      runner_.PrepareFrame("", {}).status(),
      Fails(absl::StatusCode::kFailedPrecondition, "unsupported frame: not one outermost loop"));
}

}  // namespace
}  // namespace tensor_array_grad
