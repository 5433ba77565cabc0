// Runs a loop many times. Memory runs out at the first allocation, then at the second, and so on.

#include <map>
#include <string>
#include <utility>

#include "cc/base/tensorflow_names.h"
#include "cc/run/interpreter.h"
#include "cc/testing/failing_memory.h"
#include "cc/testing/loop_runner.h"
#include "cc/testing/matchers.h"
#include "cc/testing/probe_kernels.h"

namespace tensor_array_grad {
namespace {

// TensorFlow's allocator for the buffers of kernels, which fails whenever operator new does.
class BuffersShortOfMemory : public tensorflow::AllocatorWrapper {
 public:
  BuffersShortOfMemory() : AllocatorWrapper(tensorflow::cpu_allocator()) {}
  void* AllocateRaw(size_t alignment, size_t bytes) override {
    return AllocationFails() ? nullptr : AllocatorWrapper::AllocateRaw(alignment, bytes);
  }
  void* AllocateRaw(size_t alignment, size_t bytes,
                    const tensorflow::AllocationAttributes& attributes) override {
    return AllocationFails() ? nullptr
                             : AllocatorWrapper::AllocateRaw(alignment, bytes, attributes);
  }
};

tensorflow::Allocator* Buffers() {
  static auto* const only =
      new BuffersShortOfMemory;  // never deleted: buffers may outlive the test
  return only;
}

class LoopOutOfMemoryTest : public testing::Test, protected FramesUnderTest {
 protected:
  LoopOutOfMemoryTest() : runner_(Buffers()) {
    for (const char* name : {"start", "limit", "step", "five"}) Placeholder(name, DT_INT32);
    for (const char* name : {"v0", "w0"}) Placeholder(name, DT_FLOAT);
    AddCounter("i", "start", "limit", "step");
  }

  // Builds:
  //
  //     for i in range(8):
  //         for j in range(i, 8): v += 1
  //         if i < 5: w += 1
  //         w = w + w
  //
  // A node without a small op reads i, so that a tensor is made from i.
  void BuildLoop() {
    AddVariableOf("i", "v", DT_FLOAT, "v0", "inner_exit");
    AddCounter("j", "i_switch:1", "i_limit", "i_one");
    AddVariableOf("j", "inner", DT_FLOAT, "v_switch:1", "added");
    Add("added", "LoopTest>AddOneInPlace", {"inner_switch:1"});
    AddConstantOf("i", "c", DT_INT32, "five");
    AddBinary("below", "Less", DT_INT32, {"i_switch:1", "c"});
    AddVariableOf("i", "w", DT_FLOAT, "w0", "doubled");
    AddUnary("s", "Switch", DT_FLOAT, {"w_switch:1", "below"});
    Add("more", "LoopTest>AddOneInPlace", {"s:1"});
    AddMerge("merged", DT_FLOAT, {"s", "more"});
    AddBinary("doubled", "AddV2", DT_FLOAT, {"merged", "merged"});
    Set(Add("read", "LoopTest>FailAt", {"i_switch:1"}), "at", 100);
    ASSERT_OK(runner_.PrepareLoop(*this, "i"));
  }

  // Lets runs fail at each allocation in turn.
  void RunAtEachAllocation(FailingMemory::Callers callers, bool may_leak) {
    BuildLoop();
    const Tensor v0 = Vec({1, 2, 3}), w0 = Vec({0});
    const std::map<std::string, Tensor> fed = {{"start", Tensor(0)}, {"limit", Tensor(8)},
                                               {"step", Tensor(1)},  {"five", Tensor(5)},
                                               {"v0", v0},           {"w0", w0}};
    const auto scene = [&](FailingMemory& memory) {
      std::map<std::string, Tensor> values = fed;
      memory.RunAndRepeat([&] { return runner_.Run(&values); }, [&] { values = fed; });
      EXPECT_THAT(values["v0"], TensorEq(Vec({37, 38, 39})));
      EXPECT_THAT(values["w0"], TensorEq(Vec({62 * 8})));
      EXPECT_EQ(values["start"].scalar<int32_t>()(), 8);
      EXPECT_THAT(v0, TensorEq(Vec({1, 2, 3})));  // the caller's tensors have not changed
      EXPECT_THAT(w0, TensorEq(Vec({0})));
    };
    AtEachAllocation(scene, callers, may_leak);
  }

  LoopRunner runner_;
};

TEST_F(LoopOutOfMemoryTest, RunSucceedsOrFreesEverythingAndTheNextRunSucceeds) {
  RunAtEachAllocation(FailingMemory::kOurCode, /*may_leak=*/false);
}

TEST_F(LoopOutOfMemoryTest, RunSucceedsOrFailsCleanlyAlsoIfTensorFlowsAllocatorFails) {
  RunAtEachAllocation(FailingMemory::kAnyCode, /*may_leak=*/true);
}

}  // namespace
}  // namespace tensor_array_grad
