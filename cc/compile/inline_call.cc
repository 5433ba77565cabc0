#include "cc/compile/inline_call.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "cc/flow/frame.h"
#include "cc/flow/function_search.h"
#include "cc/flow/liveness.h"
#include "cc/flow/node_util.h"
#include "cc/flow/op_facts.h"
#include "cc/flow/sum_order.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"

namespace tensor_array_grad {
namespace {

constexpr char kInstance[] = "_tensor_array_grad_instance";
constexpr char kInlinedCall[] = "_tensor_array_grad_inlined_call";

using tensorflow::FunctionLibraryDefinition;

// What CaptureGraph waits for.
struct Capture {
  const FunctionLibraryDefinition* library;
  bool is_done = false;
  std::unique_ptr<const Graph> graph;
};

thread_local Capture* capture_of_thread = nullptr;

// Whether all results of the function are live whenever its arguments are. A call with a dead
// result fails.
bool AreResultsLive(const Graph& body) {
  const absl::StatusOr<FrameTree> tree = FrameTree::Of(body);
  if (!tree.ok()) return false;
  const auto order = OrderOf(tree->root());
  if (!order.ok()) return false;
  const Liveness liveness(tree->root(), *order);
  return std::all_of(body.op_nodes().begin(), body.op_nodes().end(), [&](const Node* node) {
    return !node->IsRetval() || liveness.OfNode(*node).empty();
  });
}

// Whether the functions that `node` names, and those that they name, are the same in both
// libraries.
bool HasSameFunctions(const Node& node, const FunctionLibraryDefinition* one,
                      const FunctionLibraryDefinition* other) {
  FunctionNames seen;
  const auto differs = [&](const NodeDef& inner) {
    const std::vector<std::string> names = FunctionsNamedBy(inner);
    return !std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      const auto* const first = one == nullptr ? nullptr : one->Find(name);
      const auto* const second = other == nullptr ? nullptr : other->Find(name);
      return first != nullptr && second != nullptr && FunctionDefsEqual(*first, *second);
    });
  };
  return FindReachable(node.def(), one, differs, &seen) == nullptr;
}

// Whether `node`, or a function of `library` that it calls, has state or side effects. True if a
// function is not in the library, which may be null.
bool HasState(const Node& node, const FunctionLibraryDefinition* library) {
  const auto is_known = [&](const std::string& function) {
    return library != nullptr && library->Find(function) != nullptr;
  };
  FunctionNames seen;
  const auto has_state = [&](const NodeDef& inner) {
    const auto* const op = tensorflow::OpRegistry::Global()->LookUp(inner.op());
    if (op == nullptr ? !is_known(inner.op()) : op->op_def.is_stateful()) return true;
    const std::vector<std::string> names = FunctionsNamedBy(inner);
    return !std::all_of(names.begin(), names.end(), is_known);
  };
  return FindReachable(node.def(), library, has_state, &seen) != nullptr;
}

// Whether `node` is a call of a function without state, so that the nodes of the function may take
// its place.
bool MayBeInlined(const Node& node, const FunctionLibraryDefinition* library) {
  return node.type_string() == ops::kPartitionedCall && !HasState(node, library);
}

bool IsUsable(const Graph& body, const FunctionLibraryDefinition* functions,
              const FunctionLibraryDefinition* library) {
  for (const Node* node : body.op_nodes()) {
    if (node->IsArg() || node->IsRetval()) continue;
    if (DependsOnSharing(*node) || HasState(*node, library) ||
        !HasSameFunctions(*node, functions, library)) {
      return false;
    }
  }
  return AreResultsLive(body);
}

// Whether `node` may get a new kernel between two iterations, and its inputs may share their
// buffers in another way. (TensorFlow forgets a function, with the state in its kernels, when the
// last kernel of a call is gone.)
bool MayBeReplaced(const Node& node, const FunctionLibraryDefinition* library) {
  return !IsSeeded(node) && !DependsOnSharing(node) &&
         !(HasFact(node, kCallsFunctions) && HasState(node, library));
}

// Equal for two calls of functions if the same graph may take their place.
std::string WhatIsCalled(const Node& call) {
  NodeDef def;
  def.set_device(call.assigned_device_name());
  *def.mutable_attr() = call.def().attr();
  def.mutable_attr()->erase(kInlinedCall);
  std::string what;
  tensorflow::SerializeToStringDeterministic(def, &what);
  return what;
}

// Gives one instance to all calls that call the same. TensorFlow has one for all calls with the
// same attributes of `f`.
void SetInstances(const FunctionLibraryDefinition* library, Graph* graph) {
  static std::atomic<int64_t> next_instance{0};
  std::unordered_map<std::string, int64_t> instances;
  for (Node* node : graph->op_nodes()) {
    tensorflow::NameAttrList function;
    if (!MayBeInlined(*node, library) || !GetNodeAttr(node->attrs(), "f", &function).ok()) continue;
    const auto [found, is_new] = instances.try_emplace(WhatIsCalled(*node), 0);
    if (is_new) found->second = next_instance.fetch_add(1);
    (*function.mutable_attr())[kInstance].set_i(found->second);
    node->ClearAttr("f");
    node->AddAttr("f", function);
  }
}

// Removes attributes that only this file gives to nodes. A graph from a file may have some.
void ForgetInlining(Graph* graph) {
  for (Node* node : graph->op_nodes()) {
    if (node->attrs().Find(kInlinedCall) != nullptr) node->ClearAttr(kInlinedCall);
    if (InstanceOf(*node) < 0) continue;
    tensorflow::NameAttrList function;
    GetNodeAttr(node->attrs(), "f", &function).IgnoreError();
    function.mutable_attr()->erase(kInstance);
    node->ClearAttr("f");
    node->AddAttr("f", function);
  }
}

// Puts the nodes of one function in place of one call.
class Inliner {
 public:
  Inliner(int index, Node* call, Graph* graph) : index_(index), call_(call), graph_(graph) {}

  absl::Status Inline(const Graph& body) {
    TF_ASSIGN_OR_RETURN(entry_, AddNoOp("inputs"));
    for (const Edge* edge : call_->in_edges()) graph_->AddControlEdge(edge->src(), entry_);
    TF_ASSIGN_OR_RETURN(exit_, AddNoOp("outputs"));
    for (const Node* node : body.op_nodes()) TF_RETURN_IF_ERROR(Copy(*node));
    for (const Edge* edge : body.edges()) Connect(*edge);
    for (const Node* node : body.op_nodes()) {
      if (copies_[node]->in_edges().empty()) graph_->AddControlEdge(entry_, copies_[node]);
    }
    MoveWaits(call_, exit_, graph_);
    if (IsUsed(*call_)) return absl::InternalError("an output of the function is missing");
    graph_->RemoveNode(call_);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Node*> AddNode(NodeDef def) {
    absl::Status status;
    Node* const added = graph_->AddNode(std::move(def), &status);
    TF_RETURN_IF_ERROR(status);
    added->set_assigned_device_name(call_->assigned_device_name());
    return added;
  }

  absl::StatusOr<Node*> AddNoOp(const char* what) {
    NodeDef def;
    def.set_name(absl::StrCat(call_->name(), "/", what));
    def.set_op(ops::kNoOp);
    return AddNode(std::move(def));
  }

  // An argument becomes an Identity of the call's input, a result an Identity that the readers of
  // the call's output read.
  absl::Status Copy(const Node& node) {
    NodeDef def = node.def();
    int number = -1;
    if (node.IsArg() || node.IsRetval()) {
      TF_RETURN_IF_ERROR(GetNodeAttr(node.attrs(), "index", &number));
      if (number < 0 || number >= (node.IsArg() ? call_->num_inputs() : call_->num_outputs())) {
        return absl::InternalError("the call does not fit the function");
      }
      def.set_op(ops::kIdentity);
      if (node.IsArg()) def.add_input(call_->name());  // kernels want as many as they have inputs
      def.mutable_attr()->erase("index");
    }
    (*def.mutable_attr())[kInlinedCall].set_i(index_);  // also if a function from a file has it
    if (node.IsEnter()) {
      std::string& frame = *(*def.mutable_attr())["frame_name"].mutable_s();
      frame = absl::StrCat(call_->name(), "/", index_, "/", frame);
    }
    TF_ASSIGN_OR_RETURN(Node* const copy, AddNode(std::move(def)));
    copies_[&node] = copy;
    if (node.IsArg()) {
      const Source input = InputOf(*call_, number);
      graph_->AddEdge(input.node, input.slot, copy, 0);
      graph_->AddControlEdge(entry_, copy);
    } else if (node.IsRetval()) {
      graph_->AddControlEdge(copy, exit_);
      TF_RETURN_IF_ERROR(MoveOutput(call_, number, {copy, 0}, graph_));
    }
    return absl::OkStatus();
  }

  void Connect(const Edge& edge) {
    const auto from = copies_.find(edge.src());
    const auto to = copies_.find(edge.dst());
    if (from == copies_.end() || to == copies_.end()) return;
    graph_->AddEdge(from->second, edge.src_output(), to->second, edge.dst_input());
  }

  const int index_;
  Node* const call_;
  Graph* const graph_;
  Node* entry_ = nullptr;  // waits for all inputs of the call
  Node* exit_ = nullptr;   // waits for all outputs
  std::unordered_map<const Node*, Node*> copies_;
};

}  // namespace

int64_t InstanceOf(const Node& call) {
  tensorflow::NameAttrList function;
  if (!GetNodeAttr(call.attrs(), "f", &function).ok()) return -1;
  const auto instance = function.attr().find(kInstance);
  return instance == function.attr().end() ? -1 : instance->second.i();
}

std::unique_ptr<const Graph> CaptureGraph(const FunctionLibraryDefinition* library,
                                          absl::FunctionRef<void()> call) {
  Capture capture{library, /*is_done=*/false, nullptr};
  capture_of_thread = &capture;
  const absl::Cleanup end = [] { capture_of_thread = nullptr; };
  call();
  return std::move(capture.graph);
}

void OfferToCapture(const Graph& graph, const FunctionLibraryDefinition* functions) {
  Capture* const capture = capture_of_thread;
  if (capture == nullptr || std::exchange(capture->is_done, true)) return;
  if (!IsUsable(graph, functions, capture->library)) return;
  // A GraphDef, because Graph::Copy would share NodeDefs, which TensorFlow moves out of `graph`.
  tensorflow::GraphDef def;
  graph.ToGraphDef(&def, /*include_flib_def=*/false);
  auto copy = std::make_unique<Graph>(tensorflow::OpRegistry::Global());
  tensorflow::GraphConstructorOptions options;
  options.allow_internal_ops = true;
  options.expect_device_spec = true;
  if (!tensorflow::ConvertGraphDefToGraph(options, std::move(def), copy.get()).ok()) return;
  capture->graph = std::move(copy);
}

absl::Status InlineCalls(const FunctionLibraryDefinition* library, std::vector<InlinedCall>* calls,
                         Graph* graph) {
  ForgetInlining(graph);
  int index = 0;
  for (InlinedCall& call : *calls) {
    Node* const node = graph->FindNodeId(call.node);
    if (node == nullptr || !MayBeInlined(*node, library)) {
      return absl::InternalError("the call is missing");
    }
    call.def = node->def();
    TF_RETURN_IF_ERROR(Inliner(index++, node, graph).Inline(*call.body));
  }
  const auto nodes = graph->op_nodes();
  const auto may_be_replaced = [&](Node* node) { return MayBeReplaced(*node, library); };
  if (!std::all_of(nodes.begin(), nodes.end(), may_be_replaced)) return absl::OkStatus();
  SetInstances(library, graph);
  return absl::OkStatus();
}

// The runtime and the kernel of the call both add the name of the function.
absl::Status ErrorAt(const absl::Status& error, const NodeDef& def,
                     const std::vector<InlinedCall>& calls) {
  const absl::Status named = AttachDef(error, def);
  int index = -1;
  if (!TryGetNodeAttr(def, kInlinedCall, &index)) return named;
  const NodeDef& call = calls[index].def;
  tensorflow::NameAttrList function;
  GetNodeAttr(call, "f", &function).IgnoreError();
  const std::string name = absl::StrCat("{{function_node ", function.name(), "}} ");
  return ErrorAt(absl::Status(error.code(), absl::StrCat(name, name, named.message())), call,
                 calls);
}

}  // namespace tensor_array_grad
