#include "cc/compile/loop_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "cc/base/counters.h"
#include "cc/base/loop_record.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/testing/frames_under_test.h"
#include "cc/testing/loop_runner.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/common_runtime/device_set.h"

namespace tensor_array_grad {
namespace {

constexpr char kRunLoop[] = "TensorArrayGrad>RunLoop";
constexpr char kRunLoopInSession[] = "TensorArrayGrad>RunLoopInSession";
constexpr char kOtherTask[] = "/job:worker/replica:0/task:1/device:CPU:0";

REGISTER_KERNEL_BUILDER(Name(kRunLoop).Device(tensorflow::DEVICE_CPU), NeverRun);
REGISTER_KERNEL_BUILDER(Name(kRunLoopInSession).Device(tensorflow::DEVICE_CPU), NeverRun);

int64_t Count(const std::string& counter) { return ReadCounters()[counter]; }

// A graph with the loop i. It belongs to a session unless a test says otherwise.
class LoopPassTest : public testing::Test, protected FramesUnderTest {
 protected:
  LoopPassTest() {
    for (const char* name : {"zero", "ten", "step"}) Placeholder(name, DT_INT32);
    AddCounter("i", "zero", "ten", "step");
  }
  ~LoopPassTest() override { SetLoopsEnabled(true); }

  // Runs the pass on the graph as the partition of `device`. Returns whether the loop runs in one
  // kernel now.
  bool RewritesOn(const std::string& device) {
    const int64_t before = Count("loops.rewritten");
    std::unordered_map<std::string, std::unique_ptr<Graph>> partitions;
    partitions.emplace(device, std::move(graph()));
    options_.partition_graphs = &partitions;
    EXPECT_OK(LoopPass().Run(options_));
    graph() = std::move(partitions.at(device));
    options_.partition_graphs = nullptr;
    const bool rewritten = CountOf(options_.is_function_graph ? kRunLoop : kRunLoopInSession) == 1;
    EXPECT_EQ(Count("loops.rewritten") - before, rewritten ? 1 : 0);
    return rewritten;
  }

  // Runs the pass as at POST_REWRITE_FOR_EXEC, where it records the devices of this process.
  static void Note(tensorflow::DeviceSet* devices) {
    tensorflow::GraphOptimizationPassOptions options;
    options.device_set = devices;
    EXPECT_OK(LoopPass().Run(options));
  }

  tensorflow::GraphOptimizationPassOptions options_;
};

TEST_F(LoopPassTest, LoopOfASessionRunsInOneKernel) { EXPECT_TRUE(RewritesOn(kCpu0)); }

TEST_F(LoopPassTest, LoopStaysIfLoopsAreSwitchedOff) {
  SetLoopsEnabled(false);
  EXPECT_FALSE(AreLoopsEnabled());
  EXPECT_FALSE(RewritesOn(kCpu0));
  SetLoopsEnabled(true);
  EXPECT_TRUE(RewritesOn(kCpu0));
}

TEST_F(LoopPassTest, LoopHasARecord) {
  EXPECT_TRUE(RewritesOn(kCpu0));
  const introspection::Loop facts = AllLoops().back()->Describe();
  EXPECT_EQ(facts.name, "i");
  EXPECT_EQ(facts.left, "");
  EXPECT_EQ(facts.body.second, "i_cond");
  EXPECT_EQ(CountOf("TensorArrayGrad>NoteCondition"), 0);
}

TEST_F(LoopPassTest, LoopIsWatchedOnRequest) {
  WatchLoops(true);
  EXPECT_TRUE(RewritesOn(kCpu0));
  WatchLoops(false);
  EXPECT_EQ(CountOf("TensorArrayGrad>NoteCondition"), 1);
  EXPECT_EQ(CountOf("TensorArrayGrad>NoteExit"), 1);
  EXPECT_OK(FrameTree::Of(*graph()).status());
}

TEST_F(LoopPassTest, LoopOnAGpuStays) { EXPECT_FALSE(RewritesOn(kGpu0)); }

TEST_F(LoopPassTest, LoopOnADeviceWithAnInvalidNameStays) { EXPECT_FALSE(RewritesOn("somewhere")); }

TEST_F(LoopPassTest, LoopOfAFunctionRunsInOneKernelOnADeviceOfThisProcess) {
  CpuUnderTest cpu;
  tensorflow::DeviceSet devices, none;
  devices.AddDevice(&cpu);
  options_.is_function_graph = true;
  Note(&none);
  EXPECT_FALSE(RewritesOn(kCpu0));
  Note(&devices);
  EXPECT_FALSE(RewritesOn(kOtherTask));
  EXPECT_TRUE(RewritesOn(kCpu0));
}

TEST_F(LoopPassTest, DeviceOfAnotherProcessDoesNotCount) {
  class Remote : public CpuUnderTest {
   public:
    bool IsLocal() const override { return false; }
  } remote;
  tensorflow::DeviceSet devices;
  devices.AddDevice(&remote);
  Note(&devices);
  options_.is_function_graph = true;
  EXPECT_FALSE(RewritesOn(kCpu0));
}

TEST_F(LoopPassTest, LoopThatCannotBeCompiledStaysAndIsCountedByTheReason) {
  const std::string counter = "loops.left.private state or unknown side effects";
  const int64_t before = Count(counter);
  Set(Add("keeps", "GetSessionHandle", {"i_switch:1"}), "T", DT_INT32);
  EXPECT_FALSE(RewritesOn(kCpu0));
  EXPECT_EQ(Count(counter) - before, 1);
}

TEST_F(LoopPassTest, LoopWithASeededRandomOpStaysInASessionAndNotInAFunction) {
  tensorflow::NodeDef& random =
      Add("random", "RandomUniformInt", {"i_switch:1", "i_limit", "i_one"});
  Set(random, "T", DT_INT32);
  Set(random, "Tout", DT_INT32);
  Set(random, "seed", 1);
  EXPECT_FALSE(RewritesOn(kCpu0));
  CpuUnderTest cpu;
  tensorflow::DeviceSet devices;
  devices.AddDevice(&cpu);
  Note(&devices);
  options_.is_function_graph = true;
  EXPECT_TRUE(RewritesOn(kCpu0));
}

TEST_F(LoopPassTest, LoopThatCannotBeExtractedStaysAndIsCountedByTheReason) {
  const int64_t before = Count("loops.left.large frame");
  Find("i_plus")->AddAttr("_padding", std::string(257 << 20, 'x'));
  EXPECT_FALSE(RewritesOn(kCpu0));
  EXPECT_EQ(Count("loops.left.large frame") - before, 1);
}

TEST_F(LoopPassTest, GraphWithInvalidFramesStaysAndIsCounted) {
  const int64_t before = Count("loops.left.unsupported frame");
  AddBinary("mixed", "AddV2", DT_INT32,
            {"i_plus", "zero"});  // its inputs belong to different frames
  EXPECT_FALSE(RewritesOn(kCpu0));
  EXPECT_EQ(Count("loops.left.unsupported frame") - before, 1);
}

}  // namespace
}  // namespace tensor_array_grad
