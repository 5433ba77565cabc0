// The graph pass in which memory runs out: a graph is afterwards the old one or the new one.
//
// Only allocations of the library fail: protocol buffers are not exception-safe, so TensorFlow's
// own copies of nodes may end the process.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/rewrite/rewrite_pass.h"
#include "cc/testing/failing_memory.h"
#include "cc/testing/graph_under_test.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"

namespace tensor_array_grad {
namespace {

REGISTER_KERNEL_BUILDER(Name("TensorArrayGrad>ListAccumulate").Device(tensorflow::DEVICE_CPU),
                        NeverRun);
REGISTER_KERNEL_BUILDER(Name("TensorArrayGrad>AddSlices").Device(tensorflow::DEVICE_CPU), NeverRun);

// The sum of a list and a one-element list, and that of a tensor and two gradients of slices.
class TwoSums : protected GraphUnderTest {
 public:
  TwoSums() {
    Placeholder("list", DT_VARIANT);
    for (const char* name : {"shape", "n", "i", "ids", "size"}) Placeholder(name, DT_INT32);
    for (const char* name : {"x", "a", "dy"}) Placeholder(name, DT_FLOAT);
    NodeDef& reserve = Add("reserve", "TensorListReserve", {"shape", "n"});
    Set(reserve, "element_dtype", DT_FLOAT);
    Set(reserve, "shape_type", DT_INT32);
    Set(Add("set", "TensorListSetItem", {"reserve", "i", "x"}), "element_dtype", DT_FLOAT);
    AddSum("lists", DT_VARIANT, {"list", "set"});
    for (const char* name : {"g", "h"}) {
      NodeDef& scatter = Add(name, "ScatterNd", {"ids", "dy", "size"});
      Set(scatter, "T", DT_FLOAT);
      Set(scatter, "Tindices", DT_INT32);
    }
    AddSum("slices", DT_FLOAT, {"a", "g", "h"});
    options_.graph = &graph();
  }

  absl::Status RunPass(const RewritePass& pass) {
    return const_cast<RewritePass&>(pass).Run(options_);
  }
  std::string Bytes() {
    std::string bytes;
    EXPECT_TRUE(tensorflow::SerializeToStringDeterministic(graph()->ToGraphDefDebug(), &bytes));
    return bytes;
  }

 private:
  void AddSum(const std::string& name, DataType dtype, std::vector<std::string> operands) {
    const int n = static_cast<int>(operands.size());
    NodeDef& sum = Add(name, "AddN", std::move(operands));
    Set(sum, "N", n);
    Set(sum, "T", dtype);
  }

  tensorflow::GraphOptimizationPassOptions options_;
};

TEST(RewritePassOutOfMemoryTest, ThePassLeavesTheOldGraphOrTheNewOne) {
  const auto* const pass = new RewritePass;  // as the registry, which never destroys a pass
  TwoSums changed;
  const std::string old_graph = changed.Bytes();
  ASSERT_TRUE(changed.RunPass(*pass).ok());
  const std::string new_graph = changed.Bytes();
  ASSERT_NE(old_graph, new_graph);
  AtEachAllocation(
      [&](FailingMemory& memory) {
        TwoSums sums;
        const int64_t before = ReadCounters()["graph.slice_sum"];
        EXPECT_TRUE(memory.Run([&] { return sums.RunPass(*pass); }));
        const std::string now = sums.Bytes();
        EXPECT_TRUE(now == old_graph || now == new_graph);
        EXPECT_EQ(ReadCounters()["graph.slice_sum"] - before, now == old_graph ? 0 : 2);
      },
      FailingMemory::kOurCode, /*may_leak=*/true);
}

}  // namespace
}  // namespace tensor_array_grad
