// Gradient arrays by hand: two backward passes over one TensorArray, each with its own source.
//
//   array_gradient [LIBRARY]    # CMakeLists.txt says how to build it
//
// Prints each value that it fetched. The exit status is 1 if one of them is wrong.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tensor_array_grad/load.h"
#include "tensor_array_grad/ops.h"
#include "tensorflow/cc/framework/scope.h"
#include "tensorflow/cc/ops/data_flow_ops.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session.h"

namespace {

namespace ops = tensorflow::ops;
using tensor_array_grad::TensorArrayGrad;
using tensorflow::Output;
using tensorflow::Scope;

void OrDie(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// One fetched output, and the values that it must have.
struct Expected {
  const char* what;
  Output output;
  std::vector<float> values;
};

// Each operation takes the flow of the one that it must follow.
std::vector<Expected> BuildGraph(const Scope& root) {
  const ops::TensorArray array(
      root, 0, tensorflow::DT_FLOAT,
      ops::TensorArray::DynamicSize(true).ElementShape(tensorflow::PartialTensorShape({2})));
  const ops::TensorArrayWrite w0(root, array.handle, 0, {1.0f, 2.0f}, array.flow);
  const ops::TensorArrayWrite w1(root, array.handle, 1, {3.0f, 4.0f}, w0.flow_out);

  // After the last write, so that the size is known. One source per loss.
  const TensorArrayGrad a(root, array.handle, w1.flow_out, "gradients");
  const TensorArrayGrad b(root, array.handle, w1.flow_out, "gradients_1");

  // The first pass reaches element 0 twice: a gradient array sums.
  const ops::TensorArrayWrite a0(root, a.grad_handle, 0, {10.0f, 20.0f}, a.flow_out);
  const ops::TensorArrayWrite a1(root, a.grad_handle, 0, {0.5f, 0.5f}, a0.flow_out);
  const ops::TensorArrayWrite b0(root, b.grad_handle, 0, {7.0f, 8.0f}, b.flow_out);

  // The array of this source exists already, so the op returns its handle.
  const TensorArrayGrad again(root, array.handle, a1.flow_out, "gradients");

  const auto read = [&](const Output& handle, int index, const Output& flow) {
    return ops::TensorArrayRead(root, handle, index, flow, tensorflow::DT_FLOAT).value;
  };
  return {{"array[1]", read(array.handle, 1, w1.flow_out), {3, 4}},
          {"gradients[0]", read(again.grad_handle, 0, again.flow_out), {10.5, 20.5}},
          {"gradients[1]", read(again.grad_handle, 1, again.flow_out), {0, 0}},
          {"gradients_1[0]", read(b.grad_handle, 0, b0.flow_out), {7, 8}}};
}

std::vector<tensorflow::Tensor> Run(const Scope& root, const std::vector<Expected>& fetched) {
  tensorflow::GraphDef graph;
  OrDie(root.ToGraphDef(&graph));  // an error if an operation could not be built
  tensorflow::Session* made = nullptr;
  OrDie(tensorflow::NewSession(tensorflow::SessionOptions(), &made));
  const std::unique_ptr<tensorflow::Session> session(made);
  OrDie(session->Create(graph));
  std::vector<std::string> names;
  for (const Expected& expected : fetched) names.push_back(expected.output.name());
  std::vector<tensorflow::Tensor> values;
  OrDie(session->Run({}, names, {}, &values));
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  // Before the first session. The macro comes from the CMake package.
  OrDie(tensor_array_grad::Load(argc > 1 ? argv[1] : TENSOR_ARRAY_GRAD_LIBRARY));

  const Scope root = Scope::NewRootScope();
  const std::vector<Expected> fetched = BuildGraph(root);
  const std::vector<tensorflow::Tensor> values = Run(root, fetched);
  bool right = true;
  for (size_t i = 0; i < fetched.size(); ++i) {
    const auto got = values[i].flat<float>();
    std::printf("%s = [%g, %g]\n", fetched[i].what, got(0), got(1));
    right &= got(0) == fetched[i].values[0] && got(1) == fetched[i].values[1];
  }
  const auto counters = tensor_array_grad::Counters();
  const auto calls = counters.find("kernels.TensorArrayGradV3");
  std::printf("calls of our TensorArrayGradV3: %lld\n",
              static_cast<long long>(calls == counters.end() ? 0 : calls->second));
  std::printf("%s\n", right ? "all values are right" : "WRONG VALUES");
  return right ? 0 : 1;
}
