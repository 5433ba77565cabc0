#ifndef CC_TESTING_GRAPH_UNDER_TEST_H_
#define CC_TESTING_GRAPH_UNDER_TEST_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/attr_value_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

constexpr char kCpu0[] = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr char kCpu1[] = "/job:localhost/replica:0/task:0/device:CPU:1";
constexpr char kGpu0[] = "/job:localhost/replica:0/task:0/device:GPU:0";

// A stub for a kernel that a rule looks up. Test-only.
class NeverRun : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(tensorflow::OpKernelContext*) override {}
};

// A placed graph, built node by node, and read back as names. Test-only.
class GraphUnderTest {
 public:
  // Adds a node, whose attributes the caller sets. `inputs` are "name", "name:slot" or "^name", in
  // order; the nodes they name may be added later.
  tensorflow::NodeDef& Add(const std::string& name, const std::string& op,
                           std::vector<std::string> inputs = {}) {
    tensorflow::NodeDef& node = *def_.add_node();
    node.set_name(name);
    node.set_op(op);
    node.set_device(kCpu0);
    for (std::string& input : inputs) node.add_input(std::move(input));
    return node;
  }

  template <typename T>
  static void Set(tensorflow::NodeDef& node, const std::string& attr, const T& value) {
    tensorflow::SetAttrValue(value, &(*node.mutable_attr())[attr]);
  }

  tensorflow::NodeDef& Placeholder(const std::string& name, tensorflow::DataType type) {
    tensorflow::NodeDef& node = Add(name, "Placeholder");
    Set(node, "dtype", type);
    return node;
  }

  // The node of that name, to be changed before graph() is called.
  tensorflow::NodeDef& Named(const std::string& name) {
    for (tensorflow::NodeDef& node : *def_.mutable_node()) {
      if (node.name() == name) return node;
    }
    ADD_FAILURE() << "no node " << name;
    return *def_.mutable_node(0);
  }

  // Places all nodes on that device, before graph() is called.
  void PlaceAllOn(const char* device) {
    for (tensorflow::NodeDef& node : *def_.mutable_node()) node.set_device(device);
  }

  // The functions that nodes may call, before graph() is called.
  tensorflow::FunctionDefLibrary& library() { return *def_.mutable_library(); }

  void Clear() {
    def_.Clear();
    graph_.reset();
  }

  // The graph of what was added; made at the first call.
  std::unique_ptr<tensorflow::Graph>& graph() {
    if (graph_ == nullptr) {
      graph_ = std::make_unique<tensorflow::Graph>(tensorflow::OpRegistry::Global());
      tensorflow::GraphConstructorOptions options;
      options.expect_device_spec = true;
      options.allow_internal_ops = true;
      const absl::Status made = tensorflow::ConvertGraphDefToGraph(options, def_, graph_.get());
      if (!made.ok()) ADD_FAILURE() << made;
    }
    return graph_;
  }

  // The node of that name, or null.
  tensorflow::Node* Find(const std::string& name) {
    for (tensorflow::Node* node : graph()->op_nodes()) {
      if (node->name() == name) return node;
    }
    return nullptr;
  }

  // Names of the nodes that feed `name`: data inputs in order, then "^name" of control inputs.
  std::vector<std::string> InputsOf(const std::string& name) {
    std::vector<std::string> data, control;
    const tensorflow::Node* const node = Find(name);
    if (node == nullptr) return {absl::StrCat("no node ", name)};
    data.resize(node->num_inputs());
    for (const tensorflow::Edge* edge : node->in_edges()) {
      if (edge->src()->IsSource()) continue;
      if (edge->IsControlEdge()) {
        control.push_back(absl::StrCat("^", edge->src()->name()));
      } else {
        data[edge->dst_input()] = edge->src()->name();
      }
    }
    data.insert(data.end(), control.begin(), control.end());
    return data;
  }

  int CountOf(const std::string& op) {
    int count = 0;
    for (const tensorflow::Node* node : graph()->op_nodes()) count += node->type_string() == op;
    return count;
  }

 private:
  tensorflow::GraphDef def_;
  std::unique_ptr<tensorflow::Graph> graph_;
};

}  // namespace tensor_array_grad

#endif  // CC_TESTING_GRAPH_UNDER_TEST_H_
