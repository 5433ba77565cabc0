#include "tensor_array_grad/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cc/testing/graph_runner.h"
#include "cc/testing/matchers.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/cc/ops/data_flow_ops.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DT_FLOAT;
using tensorflow::DT_INT32;
using tensorflow::DT_RESOURCE;
using tensorflow::Output;
using tensorflow::PartialTensorShape;
using tensorflow::Scope;
using ::testing::HasSubstr;
namespace ops = tensorflow::ops;

// An array of elements of shape [2], so that the handle has a shape for inference.
ops::TensorArray Pairs(const Scope& scope, int size) {
  return ops::TensorArray(scope, size, DT_FLOAT,
                          ops::TensorArray::ElementShape(PartialTensorShape({2})));
}

// The error of building a gradient array in a fresh graph.
template <typename Build>
absl::Status ErrorOf(const Build& build) {
  const Scope root = Scope::NewRootScope();
  build(root, Pairs(root, 3));
  return root.status();
}

// The nodes of the graph as sorted text, even if the scope has an error.
std::vector<std::string> NodesOf(const Scope& scope) {
  std::vector<std::string> nodes;
  for (const tensorflow::Node* node : scope.graph()->op_nodes()) {
    nodes.push_back(node->def().DebugString());
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

TEST(TensorArrayGradTest, MembersAreTheOutputsOfOneStockNode) {
  const Scope root = Scope::NewRootScope();
  const auto array = Pairs(root, 3);
  const TensorArrayGrad grad(root, array.handle, array.flow, "gradients");
  ASSERT_OK(root.status());
  EXPECT_EQ(grad.operation.node()->type_string(), "TensorArrayGradV3");
  EXPECT_EQ(grad.grad_handle.name(), "TensorArrayGrad:0");
  EXPECT_EQ(grad.flow_out.name(), "TensorArrayGrad:1");
  EXPECT_EQ(grad.grad_handle.type(), DT_RESOURCE);
  EXPECT_EQ(grad.flow_out.type(), DT_FLOAT);
  EXPECT_EQ(grad.operation.node()->def().attr().at("source").s(), "gradients");
}

TEST(TensorArrayGradTest, GraphIsTheOneThatStocksClassBuilds) {
  const Scope ours = Scope::NewRootScope(), stocks = Scope::NewRootScope();
  for (const std::string source : {"", "gradients", "a@b/c \xc3\xa9"}) {
    const auto mine = Pairs(ours, 3);
    TensorArrayGrad(ours, mine.handle, mine.flow, source);
    TensorArrayGrad(ours.NewSubScope("in").WithOpName("grad"), mine.handle, 0.0f, source);
    const auto theirs = Pairs(stocks, 3);
    ops::TensorArrayGrad(stocks, theirs.handle, theirs.flow, source);
    ops::TensorArrayGrad(stocks.NewSubScope("in").WithOpName("grad"), theirs.handle, 0.0f, source);
  }
  ASSERT_OK(ours.status());
  EXPECT_EQ(NodesOf(ours), NodesOf(stocks));
}

TEST(TensorArrayGradTest, GraphWithShapeIsTheOneThatStocksClassBuilds) {
  const Scope ours = Scope::NewRootScope(), stocks = Scope::NewRootScope();
  const auto mine = Pairs(ours, 3);
  TensorArrayGradWithShape(ours, mine.handle, mine.flow, {4, 5}, "g");
  TensorArrayGradWithShape(ours, mine.handle, mine.flow, {6}, "h");
  const auto theirs = Pairs(stocks, 3);
  ops::TensorArrayGradWithShape(stocks, theirs.handle, theirs.flow, {4, 5}, "g");
  ops::TensorArrayGradWithShape(stocks, theirs.handle, theirs.flow, {6}, "h");
  ASSERT_OK(ours.status());
  EXPECT_EQ(NodesOf(ours), NodesOf(stocks));
}

TEST(TensorArrayGradTest, DeviceAndControlInputsOfTheScopeApply) {
  const Scope root = Scope::NewRootScope();
  const auto array = Pairs(root, 3);
  const auto before = ops::Const(root.WithOpName("before"), 1);
  const TensorArrayGrad grad(root.WithDevice("/cpu:0").WithControlDependencies(before),
                             array.handle, array.flow, "g");
  ASSERT_OK(root.status());
  EXPECT_EQ(grad.operation.node()->requested_device(), "/cpu:0");
  EXPECT_THAT(grad.operation.node()->def().input(), ::testing::Contains("^before"));
}

TEST(TensorArrayGradTest, ElementShapeIsKnownToTheGradientArray) {
  const Scope root = Scope::NewRootScope();
  const auto array = Pairs(root, 3);
  const TensorArrayGrad grad(root, array.handle, array.flow, "g");
  ops::TensorArrayWrite(root, grad.grad_handle, 0, {1.0f, 2.0f}, grad.flow_out);
  EXPECT_OK(root.status());
  ops::TensorArrayWrite(root, grad.grad_handle, 0, {1.0f, 2.0f, 3.0f}, grad.flow_out);
  EXPECT_THAT(root.status().message(), HasSubstr("must be equal, but are"));
}

TEST(TensorArrayGradTest, PrefixIsKnownToTheGradientArray) {
  const Scope root = Scope::NewRootScope();
  const auto array = Pairs(root, 3);
  const TensorArrayGradWithShape grad(root, array.handle, array.flow, {1}, "g");
  EXPECT_EQ(grad.grad_handle.name(), "TensorArrayGradWithShape:0");
  EXPECT_EQ(grad.flow_out.name(), "TensorArrayGradWithShape:1");
  ops::TensorArrayWrite(root, grad.grad_handle, 0, {{1.0f, 2.0f}}, grad.flow_out);
  EXPECT_OK(root.status());
  ops::TensorArrayWrite(root, grad.grad_handle, 0, {1.0f, 2.0f}, grad.flow_out);
  EXPECT_THAT(root.status().message(), HasSubstr("Shapes must be equal rank"));
}

TEST(TensorArrayGradTest, HandleThatIsNoResourceIsAnError) {
  const absl::Status error = ErrorOf([](const Scope& root, const ops::TensorArray& array) {
    TensorArrayGrad(root, 1.0f, array.flow, "g");
  });
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("'handle' passed float expected resource"));
}

TEST(TensorArrayGradTest, FlowThatIsNoFloatIsAnError) {
  const absl::Status error = ErrorOf([](const Scope& root, const ops::TensorArray& array) {
    TensorArrayGrad(root, array.handle, 1, "g");
  });
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("'flow_in' passed int32 expected float"));
}

TEST(TensorArrayGradTest, FlowOfAnOpThatWasNotMadeIsAnError) {
  const absl::Status error = ErrorOf([](const Scope& root, const ops::TensorArray& array) {
    TensorArrayGrad(root, array.handle, Output(), "g");
  });
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("flow_in must have rank 0, got a constant of shape [0]"));
}

TEST(TensorArrayGradTest, HandleOfAnotherGraphIsAnError) {
  const Scope other = Scope::NewRootScope();
  const auto foreign = Pairs(other.WithOpName("foreign"), 3);
  const absl::Status error = ErrorOf([&](const Scope& root, const ops::TensorArray& array) {
    TensorArrayGrad(root, foreign.handle, array.flow, "g");
  });
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("handle is foreign, which is not in the graph"));
}

TEST(TensorArrayGradTest, PrefixThatIsNoVectorIsAnErrorAndNoCrash) {
  const absl::Status scalar = ErrorOf([](const Scope& root, const ops::TensorArray& array) {
    TensorArrayGradWithShape(root, array.handle, array.flow, 4, "g");
  });
  EXPECT_EQ(scalar.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(scalar.message(), HasSubstr("shape_to_prepend must be a vector"));
  EXPECT_THAT(scalar.message(), HasSubstr("must be rank 1 but is rank 0"));
  const absl::Status matrix = ErrorOf([](const Scope& root, const ops::TensorArray& array) {
    const auto fed = ops::Placeholder(root, DT_INT32, ops::Placeholder::Shape({2, 2}));
    TensorArrayGradWithShape(root, array.handle, array.flow, fed, "g");
  });
  EXPECT_THAT(matrix.message(), HasSubstr("must be rank 1 but is rank 2"));
}

TEST(TensorArrayGradTest, PrefixOfUnknownRankIsLeftToTheRun) {
  const absl::Status error = ErrorOf([](const Scope& root, const ops::TensorArray& array) {
    const auto fed = ops::Placeholder(root, DT_INT32);
    TensorArrayGradWithShape(root, array.handle, array.flow, fed, "g");
  });
  EXPECT_OK(error);
}

TEST(TensorArrayGradTest, FailedShapeInferenceLeavesNoNodeAndAGraphThatRuns) {
  const Scope root = Scope::NewRootScope();
  const auto array = Pairs(root, 3);
  const auto size = ops::TensorArraySize(root, array.handle, array.flow);
  // The shape function requires a vector of two, which a handle was in TensorFlow 1.
  const auto fed = ops::Placeholder(root, DT_RESOURCE, ops::Placeholder::Shape({3}));
  const std::vector<std::string> before = NodesOf(root);
  const TensorArrayGrad grad(root, fed, array.flow, "g");
  EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(root.status().message(), HasSubstr("Dimension must be 2 but is 3"));
  EXPECT_EQ(grad.operation.node(), nullptr);
  EXPECT_EQ(grad.grad_handle.node(), nullptr);
  EXPECT_EQ(grad.flow_out.node(), nullptr);
  EXPECT_EQ(NodesOf(root), before);

  tensorflow::GraphDef graph;
  root.graph()->ToGraphDef(&graph);
  const std::unique_ptr<tensorflow::Session> session(
      tensorflow::NewSession(tensorflow::SessionOptions()));
  ASSERT_OK(session->Create(graph));
  std::vector<tensorflow::Tensor> values;
  ASSERT_OK(RunGraph(*session, {size.size}, &values));
  EXPECT_EQ(values[0].scalar<int32_t>()(), 3);
}

TEST(TensorArrayGradTest, FailedClassWithShapeLeavesNoNodeOfItsOp) {
  const Scope root = Scope::NewRootScope();
  const auto array = Pairs(root, 3);
  const auto prefix = ops::Const(root, 4);
  const std::vector<std::string> before = NodesOf(root);
  const TensorArrayGradWithShape grad(root, array.handle, array.flow, prefix, "g");
  EXPECT_FALSE(root.ok());
  EXPECT_EQ(grad.operation.node(), nullptr);
  EXPECT_EQ(NodesOf(root), before);
}

TEST(TensorArrayGradTest, NodesMadeAfterAProbeHaveShapesOfTheirOwn) {
  const Scope root = Scope::NewRootScope();
  const auto array = Pairs(root, 3);
  for (int i = 0; i < 20; ++i) {  // each node may get the memory of a removed one
    TensorArrayGradWithShape(root, array.handle, array.flow, {1}, "g");
    const auto value = ops::Const(root, {{1.0f, 2.0f, 3.0f}});
    ops::EnsureShape(root, value, {1, 3});
    ASSERT_TRUE(root.ok()) << i << ": " << root.status();
  }
}

TEST(TensorArrayGradTest, NothingIsBuiltInAScopeThatHasAnError) {
  const Scope root = Scope::NewRootScope();
  const auto array = Pairs(root, 3);
  root.UpdateStatus(absl::InternalError("earlier"));
  const std::vector<std::string> before = NodesOf(root);
  TensorArrayGrad(root, array.handle, array.flow, "g");
  TensorArrayGradWithShape(root, array.handle, array.flow, {1}, "g");
  EXPECT_EQ(root.status().message(), "earlier");
  EXPECT_EQ(NodesOf(root), before);
}

}  // namespace
}  // namespace tensor_array_grad
