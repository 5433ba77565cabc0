#include "tensor_array_grad/ops.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/cc/ops/const_op.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Input;
using tensorflow::Node;
using tensorflow::NodeBuilder;
using tensorflow::Output;
using tensorflow::Scope;

// One argument of an op, with the name that the op gives it.
struct Argument {
  const char* name;
  const Input& value;
  int constant_rank = -1;  // the rank a constant must have; -1 if the op itself checks it
};

bool IsConstant(const Input& input) { return input.node() == nullptr && input.node_name().empty(); }

// An edge from a node of another graph would corrupt both.
absl::Status CheckBelongsTo(const tensorflow::Graph& graph, const char* op, const Argument& arg) {
  const Node* node = arg.value.node();
  if (node == nullptr || graph.FindNodeId(node->id()) == node) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": ", arg.name, " is ", node->name(),
                   ", which is not in the graph of the scope. "
                   "Build all operations of an array with one root scope."));
}

// The output of an op that could not be built looks like a constant, an empty float vector.
absl::Status CheckConstantRank(const char* op, const Argument& arg) {
  const int rank = arg.value.tensor().dims();
  if (!IsConstant(arg.value) || arg.constant_rank < 0 || rank == arg.constant_rank) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      op, ": ", arg.name, " must have rank ", arg.constant_rank, ", got a constant of shape ",
      arg.value.tensor().shape().DebugString(), ". Is it the output of an op that failed?"));
}

// Adds the node that `builder` describes, with the properties of `scope`, and infers its shapes. On
// error nothing has been added.
absl::Status AddNode(const Scope& scope, NodeBuilder& builder, Node** node) {
  scope.UpdateBuilder(&builder);
  TF_RETURN_IF_ERROR(builder.Finalize(scope.graph(), node));
  const absl::Status status = scope.DoShapeInference(*node);
  if (!status.ok()) scope.graph()->RemoveNode(*node);
  return status;
}

// Checks that `vector` can be a vector. This must precede the shape function of
// TensorArrayGradWithShape, which reads out of bounds if the input is known to be a scalar. A scope
// does not reveal inferred shapes, but it rejects nodes that contradict them. So this function adds
// an EnsureShape node and removes it again.
absl::Status CheckIsVector(const Scope& scope, const char* op, const Argument& arg,
                           const NodeBuilder::NodeOut& vector) {
  if (vector.node == nullptr) return absl::OkStatus();  // a back edge: nothing is known yet
  NodeBuilder probe(scope.graph()->NewName(absl::StrCat(op, "_rank_of_", arg.name)), "EnsureShape");
  probe.Input(vector).Attr("shape", tensorflow::PartialTensorShape({-1}));
  Node* node = nullptr;
  const absl::Status status = AddNode(scope, probe, &node);
  if (status.ok()) {
    scope.graph()->RemoveNode(node);
    return status;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(op, ": ", arg.name, " must be a vector: ", status.message()));
}

absl::Status CheckArguments(const Scope& scope, const char* op, const std::vector<Argument>& args) {
  for (const Argument& arg : args) {
    if (!arg.value.status().ok()) return arg.value.status();
    TF_RETURN_IF_ERROR(CheckBelongsTo(*scope.graph(), op, arg));
    TF_RETURN_IF_ERROR(CheckConstantRank(op, arg));
  }
  return absl::OkStatus();
}

// Makes the inputs of a node, constants included.
absl::Status MakeInputs(const Scope& scope, const char* op, const std::vector<Argument>& args,
                        std::vector<NodeBuilder::NodeOut>* inputs) {
  TF_RETURN_IF_ERROR(CheckArguments(scope, op, args));
  for (const Argument& arg : args) {
    inputs->push_back(tensorflow::ops::AsNodeOut(scope, arg.value));
    if (!scope.ok()) return scope.status();
  }
  constexpr size_t kShapeToPrepend = 2;
  if (args.size() <= kShapeToPrepend) return absl::OkStatus();
  return CheckIsVector(scope, op, args[kShapeToPrepend], (*inputs)[kShapeToPrepend]);
}

// Builds one node of `op`, named after `class_name` if the scope gives no name. Null after an
// error, which is then in `scope.status()`.
Node* Build(const Scope& scope, const char* op, const char* class_name,
            const std::vector<Argument>& args, absl::string_view source) {
  if (!scope.ok()) return nullptr;
  std::vector<NodeBuilder::NodeOut> inputs;
  scope.UpdateStatus(MakeInputs(scope, op, args, &inputs));
  if (!scope.ok()) return nullptr;
  NodeBuilder builder(scope.GetUniqueNameForOp(class_name), op);
  if (!scope.ok()) return nullptr;
  for (const NodeBuilder::NodeOut& input : inputs) builder.Input(input);
  builder.Attr("source", source);
  Node* node = nullptr;
  scope.UpdateStatus(AddNode(scope, builder, &node));
  return scope.ok() ? node : nullptr;
}

// Sets the members of either class from the node that was built.
template <typename Op>
void SetMembers(Node* node, Op* op) {
  if (node == nullptr) return;
  op->operation = tensorflow::Operation(node);
  op->grad_handle = Output(node, 0);
  op->flow_out = Output(node, 1);
}

}  // namespace

TensorArrayGrad::TensorArrayGrad(const Scope& scope, Input handle, Input flow_in,
                                 absl::string_view source) {
  SetMembers(Build(scope, "TensorArrayGradV3", "TensorArrayGrad",
                   {{"handle", handle}, {"flow_in", flow_in, 0}}, source),
             this);
}

TensorArrayGradWithShape::TensorArrayGradWithShape(const Scope& scope, Input handle, Input flow_in,
                                                   Input shape_to_prepend,
                                                   absl::string_view source) {
  SetMembers(
      Build(scope, "TensorArrayGradWithShape", "TensorArrayGradWithShape",
            {{"handle", handle}, {"flow_in", flow_in, 0}, {"shape_to_prepend", shape_to_prepend}},
            source),
      this);
}

}  // namespace tensor_array_grad
