#include "cc/flow/node_util.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/statusor.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace tensor_array_grad {

using tensorflow::DeviceNameUtils;
using tensorflow::NodeDefBuilder;

Source InputOf(const Node& node, int index) {
  const Edge* edge;
  if (!node.input_edge(index, &edge).ok()) return {nullptr, 0};
  return {edge->src(), edge->src_output()};
}

std::vector<Source> InputsOf(const Node& node) {
  std::vector<Source> inputs(node.num_inputs(), Source{nullptr, 0});
  for (const Edge* edge : node.in_edges()) {
    if (!edge->IsControlEdge()) inputs[edge->dst_input()] = {edge->src(), edge->src_output()};
  }
  return inputs;
}

Source SkipIdentities(Source source) {
  while (source.node->type_string() == ops::kIdentity) {
    const Source from = InputOf(*source.node, 0);
    if (tensorflow::IsRefType(from.node->output_type(from.slot))) break;
    source = from;
  }
  return source;
}

bool IsAddN(const Node& node) { return node.type_string() == ops::kAddN; }

bool IsLoopCond(const Node& node) { return node.IsLoopCond(); }

bool IsConstantEnter(const Node& node) {
  bool is_constant = false;
  return node.IsEnter() && TryGetNodeAttr(node.attrs(), "is_constant", &is_constant) && is_constant;
}

bool HasOneConsumer(const Node& node) {
  return node.out_edges().size() == 1 && !(*node.out_edges().begin())->IsControlEdge();
}

bool IsWaitedFor(const Node& node) {
  for (const Edge* edge : node.out_edges()) {
    if (edge->IsControlEdge() && !edge->dst()->IsSink()) return true;
  }
  return false;
}

bool WaitsOnlyFor(const Node& node, absl::FunctionRef<bool(const Node&)> allowed) {
  return std::all_of(node.in_edges().begin(), node.in_edges().end(), [&](const Edge* edge) {
    return !edge->IsControlEdge() || edge->src()->IsSource() || allowed(*edge->src());
  });
}

bool WaitsForNothing(const Node& node) {
  return WaitsOnlyFor(node, [](const Node&) { return false; });
}

bool ConstantOf(const Node& node, Tensor* value) {
  return node.IsConstant() && GetNodeAttr(node.attrs(), "value", value).ok() &&
         value->dtype() == node.output_type(0);
}

bool IsZero(const Tensor& tensor) {
  const absl::string_view bytes = tensor.tensor_data();
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

bool SameElementType(const Node& a, const Node& b) {
  DataType of_a, of_b;
  return TryGetNodeAttr(a.attrs(), "element_dtype", &of_a) &&
         TryGetNodeAttr(b.attrs(), "element_dtype", &of_b) && of_a == of_b;
}

bool OnSameDevice(const Node& a, const Node& b) {
  return a.has_assigned_device_name() && b.has_assigned_device_name() &&
         a.assigned_device_name() == b.assigned_device_name();
}

bool HasKernelOnDeviceOf(const Node& node, const NodeDef& def) {
  DeviceNameUtils::ParsedName device;
  if (!DeviceNameUtils::ParseFullName(node.assigned_device_name(), &device) || !device.has_type) {
    return false;
  }
  return tensorflow::FindKernelDef(tensorflow::DeviceType(device.type), def, nullptr, nullptr).ok();
}

// The inputs are added to the NodeDef by name and to the graph as edges: AddNode itself does not
// connect the node.
absl::StatusOr<Source> AddReplacement(NodeDef def, absl::Span<const Source> inputs,
                                      const Node& place, absl::Span<Node* const> replaced,
                                      Graph* graph) {
  absl::Status status;
  def.clear_input();
  for (const Source& input : inputs) {
    def.add_input(absl::StrCat(input.node->name(), ":", input.slot));
  }
  *def.mutable_experimental_debug_info() = place.def().experimental_debug_info();
  Node* const added = graph->AddNode(std::move(def), &status);
  TF_RETURN_IF_ERROR(status);
  added->set_assigned_device_name(place.assigned_device_name());
  added->SetStackTrace(place.GetStackTrace());
  for (size_t i = 0; i < inputs.size(); ++i) {
    graph->AddEdge(inputs[i].node, inputs[i].slot, added, static_cast<int>(i));
  }
  for (const Node* old : replaced) {
    for (const Edge* edge : old->in_edges()) {
      if (edge->IsControlEdge()) graph->AddControlEdge(edge->src(), added);
    }
  }
  return Source{added, 0};
}

absl::StatusOr<Source> AddReplacement(NodeDefBuilder builder, absl::Span<const Source> inputs,
                                      const Node& place, absl::Span<Node* const> replaced,
                                      Graph* graph) {
  TF_ASSIGN_OR_RETURN(NodeDef def, Finalized(builder));
  return AddReplacement(std::move(def), inputs, place, replaced, graph);
}

std::string NewName(const Node& node, absl::string_view what, Graph* graph) {
  return graph->NewName(absl::StrCat(node.name(), "/", what));
}

bool IsFunctionCall(const Node& node) {
  return tensorflow::OpRegistry::Global()->LookUp(node.type_string()) == nullptr;
}

bool IsRead(const Node& node, int slot) {
  return std::any_of(node.out_edges().begin(), node.out_edges().end(),
                     [slot](const Edge* edge) { return edge->src_output() == slot; });
}

bool IsUsed(const Node& node) {
  return std::any_of(node.out_edges().begin(), node.out_edges().end(),
                     [](const Edge* edge) { return !edge->dst()->IsSink(); });
}

// `removed` is needed because a removed node must not be accessed when it is listed again.
void RemoveUnused(const std::vector<Node*>& nodes, Graph* graph) {
  std::unordered_set<const Node*> removed;
  for (Node* node : nodes) {
    if (removed.count(node) > 0 || IsUsed(*node)) continue;
    removed.insert(node);
    graph->RemoveNode(node);
  }
}

// The edges are copied first, because moving an edge changes the set of outgoing edges.
absl::Status MoveOutput(Node* from, int slot, Source to, Graph* graph) {
  const std::vector<const Edge*> edges(from->out_edges().begin(), from->out_edges().end());
  for (const Edge* edge : edges) {
    if (edge->IsControlEdge() || edge->src_output() != slot) continue;
    TF_RETURN_IF_ERROR(graph->UpdateEdge(to.node, to.slot, edge->dst(), edge->dst_input()));
  }
  return absl::OkStatus();
}

void MoveWaits(Node* from, Node* to, Graph* graph) {
  const std::vector<const Edge*> edges(from->out_edges().begin(), from->out_edges().end());
  for (const Edge* edge : edges) {
    if (!edge->IsControlEdge()) continue;
    graph->AddControlEdge(to, edge->dst());
    graph->RemoveControlEdge(edge);
  }
}

absl::Status Replace(Node* from, Node* to, const std::vector<Node*>& feeding, Graph* graph) {
  MoveWaits(from, to, graph);
  TF_RETURN_IF_ERROR(MoveOutput(from, 0, {to, 0}, graph));
  graph->RemoveNode(from);
  RemoveUnused(feeding, graph);
  return absl::OkStatus();
}

// A graph in which an allocation failed halfway can be destroyed: its destructor reads no edge.
absl::Status ChangeOrRestore(absl::FunctionRef<absl::Status()> change,
                             std::unique_ptr<Graph>* graph) {
  std::unique_ptr<Graph> before = (*graph)->Clone();
  absl::Cleanup restore = [&] { *graph = std::move(before); };
  absl::Status status = change();
  if (status.ok()) std::move(restore).Cancel();
  return status;
}

NodeDefBuilder StartNode(const std::string& name, const char* op, absl::Span<const Source> inputs) {
  NodeDefBuilder builder(name, op);
  for (const auto& input : NodeOuts(inputs)) builder.Input(input);
  return builder;
}

std::vector<NodeDefBuilder::NodeOut> NodeOuts(absl::Span<const Source> sources) {
  std::vector<NodeDefBuilder::NodeOut> outs;
  for (const Source& source : sources) {
    outs.emplace_back(source.node->name(), source.slot, source.node->output_type(source.slot));
  }
  return outs;
}

absl::StatusOr<NodeDef> Finalized(NodeDefBuilder& builder) {
  NodeDef def;
  TF_RETURN_IF_ERROR(builder.Finalize(&def));
  return def;
}

}  // namespace tensor_array_grad
