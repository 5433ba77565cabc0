// The documented properties of the gradient ops, in sessions that run this library's kernels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cc/testing/graph_runner.h"
#include "cc/testing/matchers.h"
#include "tensor_array_grad/load.h"
#include "tensor_array_grad/ops.h"
#include "tensorflow/cc/ops/array_ops.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/cc/ops/data_flow_ops.h"
#include "tensorflow/cc/ops/math_ops.h"
#include "tensorflow/core/framework/resource_handle.h"

namespace tensor_array_grad {
namespace {

using tensorflow::DT_FLOAT;
using tensorflow::Input;
using tensorflow::Output;
using tensorflow::PartialTensorShape;
using tensorflow::Scope;
using tensorflow::Session;
using tensorflow::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace ops = tensorflow::ops;

// An array, and the flow of the last operation on it.
struct Chain {
  Output handle, flow;
};

class ArraySessionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_OK(Load(TENSOR_ARRAY_GRAD_LIBRARY)); }

  void TearDown() override { EXPECT_OK(root_.status()); }

  Chain Array(int size, bool dynamic = false, const std::string& name = "") {
    const ops::TensorArray array(root_, size, DT_FLOAT,
                                 ops::TensorArray::ElementShape(PartialTensorShape({2}))
                                     .DynamicSize(dynamic)
                                     .TensorArrayName(name));
    return {array.handle, array.flow};
  }

  void Write(Chain* to, int index, const std::vector<float>& value) {
    to->flow = ops::TensorArrayWrite(root_, to->handle, index, Vec(value), to->flow).flow_out;
  }

  Output Read(const Chain& from, int index) {
    return ops::TensorArrayRead(root_, from.handle, index, from.flow, DT_FLOAT).value;
  }

  Output Size(const Chain& of) { return ops::TensorArraySize(root_, of.handle, of.flow).size; }

  // The gradient array of `forward`, made after all operations that `forward` has so far.
  Chain Grad(const Chain& forward, const std::string& source) {
    const TensorArrayGrad grad(root_, forward.handle, forward.flow, source);
    return {grad.grad_handle, grad.flow_out};
  }

  std::vector<Tensor> Fetch(const std::vector<Output>& outputs) {
    std::vector<Tensor> values;
    EXPECT_OK(RunGraph(root_, outputs, &values));
    values.resize(outputs.size());
    return values;
  }

  const Scope root_ = Scope::NewRootScope();
};

TEST_F(ArraySessionTest, KernelsOfThisLibraryRunOncePerNode) {
  const std::string grad_calls = "kernels.TensorArrayGradV3", writes = "kernels.TensorArrayWriteV3";
  Chain forward = Array(2);
  Write(&forward, 0, {1, 2});
  Chain grad = Grad(forward, "g");
  Write(&grad, 0, {3, 4});
  auto before = Counters();
  EXPECT_THAT(Fetch({Read(grad, 0)})[0], TensorEq(Vec({3, 4})));
  auto after = Counters();
  EXPECT_EQ(after[grad_calls] - before[grad_calls], 1);
  EXPECT_EQ(after[writes] - before[writes], 2);
}

TEST_F(ArraySessionTest, ExistingGradientArrayIsFoundByItsSource) {
  const Chain forward = Array(3);
  Chain made = Grad(forward, "gradients");
  Write(&made, 1, {10, 20});
  Chain found = Grad({forward.handle, made.flow}, "gradients");
  Write(&found, 1, {1, 2});
  EXPECT_THAT(Fetch({Read({made.handle, found.flow}, 1)})[0], TensorEq(Vec({11, 22})));
}

TEST_F(ArraySessionTest, EachSourceHasAGradientArrayOfItsOwn) {
  const Chain forward = Array(1);
  Chain first = Grad(forward, "gradients"), second = Grad(forward, "gradients_1");
  Write(&first, 0, {1, 2});
  Write(&first, 0, {10, 20});
  Write(&second, 0, {100, 200});
  const std::vector<Tensor> values = Fetch({Read(first, 0), Read(second, 0)});
  EXPECT_THAT(values[0], TensorEq(Vec({11, 22})));
  EXPECT_THAT(values[1], TensorEq(Vec({100, 200})));
}

TEST_F(ArraySessionTest, WritesToAGradientArrayAddWhileForwardOnesAreRefused) {
  Chain forward = Array(1);
  Write(&forward, 0, {1, 2});
  Write(&forward, 0, {3, 4});
  std::vector<Tensor> values;
  EXPECT_THAT(RunGraph(root_, {forward.flow}, &values),
              Fails(absl::StatusCode::kInvalidArgument, "because it has already been written to."));
}

TEST_F(ArraySessionTest, ElementThatNoGradientReachedReadsAsZeros) {
  EXPECT_THAT(Fetch({Read(Grad(Array(3), "g"), 2)})[0], TensorEq(Vec({0, 0})));
}

TEST_F(ArraySessionTest, SizeOfADynamicArrayIsFrozenWithItsFirstGradient) {
  Chain forward = Array(0, /*dynamic=*/true);
  Write(&forward, 0, {1, 2});
  Write(&forward, 4, {3, 4});
  const Chain grad = Grad(forward, "g");
  Chain late{forward.handle, grad.flow};
  Write(&late, 5, {5, 6});
  EXPECT_EQ(Fetch({Size(grad)})[0].scalar<int32_t>()(), 5);
  std::vector<Tensor> values;
  EXPECT_THAT(RunGraph(root_, {late.flow}, &values),
              Fails(absl::StatusCode::kInvalidArgument,
                    "Tried to write to index 5 but array is not resizeable and size is: 5"));
}

TEST_F(ArraySessionTest, ElementsThatAreThereCanStillBeWrittenAfterwards) {
  Chain forward = Array(2, /*dynamic=*/true);
  forward.flow = Grad(forward, "g").flow;
  Write(&forward, 1, {7, 8});
  EXPECT_THAT(Fetch({Read(forward, 1)})[0], TensorEq(Vec({7, 8})));
}

TEST_F(ArraySessionTest, FlowOfTheLastWriteOrdersTheGradientBehindAllWrites) {
  Chain forward = Array(0, /*dynamic=*/true);
  for (int i = 0; i < 20; ++i) Write(&forward, i, {1, 2});
  const Output size = Size(Grad(forward, "g"));
  absl::Status status;
  const std::unique_ptr<Session> session = NewSession(root_, &status);
  ASSERT_OK(status);
  for (int run = 0; run < 50; ++run) {
    std::vector<Tensor> values;
    ASSERT_OK(RunGraph(*session, {size}, &values));
    ASSERT_EQ(values[0].scalar<int32_t>()(), 20) << "run " << run;
  }
}

TEST_F(ArraySessionTest, FlowFromBeforeTheWritesGivesTheSizeFromBefore) {
  const Chain forward = Array(3, /*dynamic=*/true);
  const Chain grad = Grad(forward, "g");
  EXPECT_EQ(Fetch({Size(grad)})[0].scalar<int32_t>()(), 3);
}

TEST_F(ArraySessionTest, NameOfTheGradientArrayEndsWithItsSource) {
  const Chain forward = Array(1, /*dynamic=*/false, "mine");
  const std::vector<Tensor> values = Fetch({forward.handle, Grad(forward, "gradients_7").handle});
  const std::string name = values[0].scalar<tensorflow::ResourceHandle>()().name();
  const std::string of_gradient = values[1].scalar<tensorflow::ResourceHandle>()().name();
  ASSERT_TRUE(absl::StartsWith(name, "_tensor_arraysmine_")) << name;
  const std::string stem = name.substr(std::string("_tensor_arrays").size());
  EXPECT_EQ(of_gradient, absl::StrCat("_tensor_array_grads", stem, "@gradients_7"));
}

TEST_F(ArraySessionTest, GradientOfAGradientArrayIsAnArrayOfItsOwn) {
  const Chain forward = Array(1);
  Chain first = Grad(forward, "g");
  Write(&first, 0, {1, 2});
  Chain second = Grad(first, "h");
  Write(&second, 0, {10, 20});
  Write(&second, 0, {1, 1});
  const std::vector<Tensor> values = Fetch({Read(first, 0), Read(second, 0)});
  EXPECT_THAT(values[0], TensorEq(Vec({1, 2})));
  EXPECT_THAT(values[1], TensorEq(Vec({11, 21})));
}

TEST_F(ArraySessionTest, PrependedShapePrecedesThatOfTheElements) {
  const Chain forward = Array(1);
  const TensorArrayGradWithShape grad(root_, forward.handle, forward.flow, {3}, "g");
  const Tensor rows = TensorOf<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Output flow = grad.flow_out;
  for (int i = 0; i < 2; ++i) {
    flow = ops::TensorArrayWrite(root_, grad.grad_handle, 0, rows, flow).flow_out;
  }
  const std::vector<Tensor> values = Fetch(
      {Read({grad.grad_handle, flow}, 0),
       Read(Chain{TensorArrayGradWithShape(root_, Array(1).handle, flow, {1}, "g").grad_handle,
                  flow},
            0)});
  EXPECT_THAT(values[0], TensorEq(TensorOf<float>({3, 2}, {2, 4, 6, 8, 10, 12})));
  EXPECT_THAT(values[1], TensorEq(TensorOf<float>({1, 2}, {0, 0})));
}

TEST_F(ArraySessionTest, PrefixThatTurnsOutToBeNoVectorIsAnErrorOfTheRun) {
  const auto prefix = ops::PlaceholderWithDefault(root_, 4, PartialTensorShape());
  const Chain forward = Array(1);
  const TensorArrayGradWithShape grad(root_, forward.handle, forward.flow, prefix, "g");
  std::vector<Tensor> values;
  EXPECT_THAT(RunGraph(root_, {grad.flow_out}, &values),
              Fails(absl::StatusCode::kInvalidArgument, "shape must be a vector"));
}

TEST_F(ArraySessionTest, FailedRunLeavesTheSessionUsable) {
  Chain forward = Array(1), wrong{forward.handle, forward.flow};
  Write(&forward, 0, {1, 2});
  Write(&wrong, 7, {1, 2});
  const Output read = Read(Grad(forward, "g"), 0);
  absl::Status status;
  const std::unique_ptr<Session> session = NewSession(root_, &status);
  ASSERT_OK(status);
  std::vector<Tensor> values;
  EXPECT_FALSE(RunGraph(*session, {wrong.flow}, &values).ok());
  ASSERT_OK(RunGraph(*session, {read}, &values));
  EXPECT_THAT(values[0], TensorEq(Vec({0, 0})));
}

// Expects `want` from concurrent runs: one thread per session, 50 runs per thread.
void RunAtOnce(const std::vector<Session*>& sessions, const Output& fetched, const Tensor& want) {
  std::vector<std::thread> threads;
  for (Session* session : sessions) {
    threads.emplace_back([session, &fetched, &want] {
      for (int run = 0; run < 50; ++run) {
        std::vector<Tensor> values;
        ASSERT_OK(RunGraph(*session, {fetched}, &values));
        ASSERT_THAT(values[0], TensorEq(want)) << "run " << run;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class SessionsAtOnceTest : public ArraySessionTest {
 protected:
  // Sums 1 + 2 + ... + 8 into one element, by writes that may run in any order.
  Output RacingSum() {
    const Chain grad = Grad(Array(1, /*dynamic=*/false, "raced"), "gradients");
    std::vector<Output> flows;
    for (float i = 1; i <= 8; ++i) {
      Chain branch = grad;
      Write(&branch, 0, {i, 10 * i});
      flows.push_back(branch.flow);
    }
    return Read({grad.handle, ops::AddN(root_, flows).sum}, 0);
  }
};

TEST_F(SessionsAtOnceTest, SessionsOfOneGraphShareNoArray) {
  const Output sum = RacingSum();
  std::vector<std::unique_ptr<Session>> owned;
  std::vector<Session*> sessions;
  for (int i = 0; i < 4; ++i) {
    absl::Status status;
    owned.push_back(NewSession(root_, &status));
    ASSERT_OK(status);
    sessions.push_back(owned.back().get());
  }
  RunAtOnce(sessions, sum, Vec({36, 360}));
}

TEST_F(SessionsAtOnceTest, RunsOfOneSessionShareNoArray) {
  const Output sum = RacingSum();
  absl::Status status;
  const std::unique_ptr<Session> session = NewSession(root_, &status);
  ASSERT_OK(status);
  RunAtOnce({session.get(), session.get(), session.get(), session.get()}, sum, Vec({36, 360}));
}

}  // namespace
}  // namespace tensor_array_grad
