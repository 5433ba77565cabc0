#include "cc/run/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cc/base/tensorflow_names.h"
#include "cc/testing/loop_runner.h"
#include "cc/testing/matchers.h"

namespace tensor_array_grad {
namespace {

using testing::SizeIs;

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
        EXPECT_EQ(node.small.run != nullptr, instruction.action == Instruction::kKernel);
      }
    }
    EXPECT_EQ(executable.kernels[code.loop_cond].def.op(), "LoopCond");
  }
  EXPECT_THAT(executable.register_of_arg, SizeIs(3));
  EXPECT_EQ(executable.parallel_iterations, 10);
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

TEST_F(ExecutableTest, IsOutdatedAfterAsManyIterationsAsItServes) {
  Executable executable;
  executable.serves = 4;
  EXPECT_FALSE(executable.IsOutdated(9));
  executable.has_bodies = true;
  EXPECT_FALSE(executable.IsOutdated(3));
  EXPECT_TRUE(executable.IsOutdated(4));
  executable.served = 2;
  EXPECT_TRUE(executable.IsOutdated(2));
  EXPECT_FALSE(executable.IsOutdated(1));
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
  EXPECT_THAT(runner_.PrepareFrame("no graph").status(),
              Fails(absl::StatusCode::kFailedPrecondition,
                    "unsupported frame: the attribute is no GraphDef"));
}

TEST_F(ExecutableTest, GraphWithoutLoopIsRejected) {
  EXPECT_THAT(
      runner_.PrepareFrame("").status(),
      Fails(absl::StatusCode::kFailedPrecondition, "unsupported frame: not one outermost loop"));
}

}  // namespace
}  // namespace tensor_array_grad
