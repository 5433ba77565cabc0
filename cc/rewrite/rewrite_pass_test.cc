#include "cc/rewrite/rewrite_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/rewrite_log.h"
#include "cc/rewrite/rules.h"
#include "cc/testing/graph_under_test.h"

namespace tensor_array_grad {
namespace {

using tensorflow::OptimizationPassRegistry;

int64_t Rewrites() { return ReadCounters()["graph.accumulate_into_list"]; }

class RewritePassTest : public testing::Test, protected GraphUnderTest {
 protected:
  // list + {i: x} + {i: x}, as two AddN.
  RewritePassTest() {
    Placeholder("list", DT_VARIANT);
    for (const char* name : {"shape", "n", "i"}) Placeholder(name, DT_INT32);
    Placeholder("x", DT_FLOAT);
    AddSum("a", "list");
    AddSum("b", "a_sum");
  }
  ~RewritePassTest() override { SetGraphPassEnabled(true); }

  void AddSum(const std::string& prefix, const std::string& list) {
    NodeDef& reserve = Add(prefix + "_reserve", "TensorListReserve", {"shape", "n"});
    Set(reserve, "element_dtype", DT_FLOAT);
    Set(reserve, "shape_type", DT_INT32);
    Set(Add(prefix + "_set", "TensorListSetItem", {prefix + "_reserve", "i", "x"}), "element_dtype",
        DT_FLOAT);
    NodeDef& sum = Add(prefix + "_sum", "AddN", {list, prefix + "_set"});
    Set(sum, "N", 2);
    Set(sum, "T", DT_VARIANT);
    Set(Add(prefix + "_use", "Identity", {prefix + "_sum"}), "T", DT_VARIANT);
  }

  // Runs a pass of these rules, which is never destroyed.
  void RunPassOf(const std::vector<Rule>& rules) {
    auto* const pass = new RewritePass(rules);
    tensorflow::GraphOptimizationPassOptions options;
    options.graph = &graph();
    EXPECT_TRUE(pass->Run(options).ok());
  }

  // Runs every pass of the group in which this pass must be registered.
  void RunRegisteredPasses(const tensorflow::FunctionDef* function = nullptr) {
    tensorflow::FunctionLibraryDefinition library(tensorflow::OpRegistry::Global(),
                                                  tensorflow::FunctionDefLibrary());
    tensorflow::GraphOptimizationPassOptions options;
    options.graph = &graph();
    options.flib_def = &library;
    options.function_def = function;
    options.is_function_graph = function != nullptr;
    const absl::Status run = OptimizationPassRegistry::Global()->RunGrouping(
        OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, options);
    EXPECT_TRUE(run.ok()) << run;
  }
};

TEST_F(RewritePassTest, TheRuntimeFindsThePassAndEveryRewriteIsCounted) {
  const int64_t before = Rewrites();
  RunRegisteredPasses();
  EXPECT_EQ(CountOf("TensorArrayGrad>ListAccumulate"), 2);
  EXPECT_EQ(CountOf("AddN"), 0);
  EXPECT_EQ(Rewrites() - before, 2);
}

TEST_F(RewritePassTest, DisabledPassChangesNothing) {
  SetGraphPassEnabled(false);
  EXPECT_FALSE(IsGraphPassEnabled());
  const int64_t before = Rewrites();
  RunRegisteredPasses();
  EXPECT_EQ(CountOf("AddN"), 2);
  EXPECT_EQ(Rewrites(), before);
}

TEST_F(RewritePassTest, ReenabledPassRewrites) {
  SetGraphPassEnabled(false);
  SetGraphPassEnabled(true);
  RunRegisteredPasses();
  EXPECT_EQ(CountOf("AddN"), 0);
}

TEST_F(RewritePassTest, AFunctionThatXlaMustCompileIsLeftAlone) {
  tensorflow::FunctionDef function;
  (*function.mutable_attr())["_XlaMustCompile"].set_b(true);
  RunRegisteredPasses(&function);
  EXPECT_EQ(CountOf("AddN"), 2);
}

TEST_F(RewritePassTest, AnotherFunctionIsRewritten) {
  tensorflow::FunctionDef function;
  (*function.mutable_attr())["_XlaMustCompile"].set_b(false);
  RunRegisteredPasses(&function);
  EXPECT_EQ(CountOf("AddN"), 0);
}

// The rewrite of the sum after a Merge removes the sum in the branch, a candidate with a later id.
TEST_F(RewritePassTest, RewriteMayRemoveALaterCandidate) {
  Clear();
  for (const char* name : {"a", "dy"}) Placeholder(name, DT_FLOAT);
  for (const char* name : {"ids", "shape"}) Placeholder(name, DT_INT32);
  const auto add = [this](const char* name, const char* op, std::vector<std::string> inputs) {
    NodeDef& node = Add(name, op, std::move(inputs));
    Set(node, "T", DT_FLOAT);
    return &node;
  };
  Set(*add("sum", "AddN", {"a", "chosen"}), "N", 2);
  Set(*add("chosen", "Merge", {"g", "zeros"}), "N", 2);
  add("zeros", "ZerosLike", {"a"});
  for (const char* name : {"g", "h"}) {
    Set(*add(name, "ScatterNd", {"ids", "dy", "shape"}), "Tindices", DT_INT32);
  }
  NodeDef def = Find("sum")->def();
  def.set_name("of_branch");
  Node* const chosen = Find("chosen");
  graph()->RemoveEdge(*Find("h")->out_edges().begin());  // the edge to the sink
  const auto of_branch =
      AddReplacement(def, {{Find("g"), 0}, {Find("h"), 0}}, *chosen, {}, graph().get());
  ASSERT_TRUE(of_branch.ok());
  ASSERT_TRUE(graph()->UpdateEdge(of_branch->node, 0, chosen, 0).ok());
  RunRegisteredPasses();
  EXPECT_EQ(CountOf("AddN"), 0);
  EXPECT_EQ(CountOf("TensorArrayGrad>AddSlices"), 1);
}

// Removes a sum, and then fails.
template <bool throws>
absl::Status Fail(Node* node, tensorflow::Graph* graph, Outcome*) {
  graph->RemoveNode(node);
  if (throws) throw std::bad_alloc();
  return absl::InternalError("no way on");
}

TEST_F(RewritePassTest, ARuleThatFailsLeavesTheGraphAsItWas) {
  for (const auto fail : {Fail<false>, Fail<true>}) {
    const int64_t failures = ReadCounters()["graph_pass.failures"];
    const std::string before = graph()->ToGraphDefDebug().DebugString();
    RunPassOf({{"failing", IsAddN, fail}});
    EXPECT_EQ(graph()->ToGraphDefDebug().DebugString(), before);
    EXPECT_EQ(CountOf("AddN"), 2);
    EXPECT_EQ(ReadCounters()["graph_pass.failures"], failures + 1);
    EXPECT_EQ(ReadCounters()["graph.failing"], 0);
  }
}

TEST_F(RewritePassTest, RunWithoutAGraphIsNotAnError) { EXPECT_TRUE(RewritePass().Run({}).ok()); }

}  // namespace
}  // namespace tensor_array_grad
