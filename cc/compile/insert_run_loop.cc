#include "cc/compile/insert_run_loop.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/compile/compiler.h"
#include "cc/compile/eligibility.h"
#include "cc/compile/waiting_nodes.h"
#include "cc/flow/liveness.h"
#include "cc/flow/node_util.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

using tensorflow::FunctionLibraryDefinition;

// Marks the Merge that AddMerge adds, of which TensorFlow may make one for several loops.
constexpr char kAdded[] = "_tensor_array_grad_added";

// A larger graph does not fit into RunLoop's attribute: protocol buffers limit the size of a
// message.
constexpr size_t kMostBytes = 256 << 20;

// Whether `loop` can run in one kernel. `around` is that of the frame around it. If it can, the
// marks of NoteKnownValues stay in the loop.
absl::Status Check(const Frame& loop, const Liveness& around, WaitingNodes* waiting,
                   const FunctionLibraryDefinition* library, bool in_session) {
  ForgetKnownValues(loop);  // a graph from a file may have some
  if (!around.EntersAsOne(loop)) {
    return Rejected("inputs may be dead apart", absl::StrCat("frame '", loop.name, "'"));
  }
  if (in_session) TF_RETURN_IF_ERROR(CheckInSession(loop, library));
  TF_RETURN_IF_ERROR(CheckCalls(loop, library));
  around.NoteKnownValues(loop);
  absl::Status status = Compile(loop).status();
  if (status.ok()) status = waiting->Check(loop);
  if (!status.ok()) ForgetKnownValues(loop);
  return status;
}

// The Enter nodes of variables, then those of constants: the order of RunLoop's inputs.
std::vector<Node*> InInputOrder(const Frame& loop) {
  std::vector<Node*> enters = loop.enters;
  std::stable_partition(enters.begin(), enters.end(),
                        [](const Node* enter) { return !IsConstantEnter(*enter); });
  return enters;
}

// Serialises a graph of `loop` alone into `frame`, with _Arg nodes as the inputs of its Enter
// nodes.
absl::Status Extract(const Frame& loop, const std::vector<Node*>& enters, const Graph& graph,
                     std::string* frame) {
  Graph part(graph.flib_def());
  part.set_versions(graph.versions());
  std::unordered_map<const Node*, Node*> copies;
  const std::vector<Node*> nodes = NodesIn(loop, enters);
  for (Node* node : nodes) copies[node] = part.CopyNode(node);
  for (size_t i = 0; i < enters.size(); ++i) {
    NodeDef def;
    def.set_name(absl::StrCat("tensor_array_grad_argument_", i));
    def.set_op("_Arg");
    def.set_device(enters[i]->assigned_device_name());
    AddNodeAttr("T", enters[i]->output_type(0), &def);
    AddNodeAttr("index", static_cast<int>(i), &def);
    absl::Status status;
    Node* const argument = part.AddNode(std::move(def), &status);
    TF_RETURN_IF_ERROR(status);
    part.AddEdge(argument, 0, copies[enters[i]], 0);
  }
  for (const Node* node : nodes) {
    for (const Edge* edge : node->out_edges()) {
      const auto reader = copies.find(edge->dst());
      if (reader == copies.end()) continue;
      part.AddEdge(copies[node], edge->src_output(), reader->second, edge->dst_input());
    }
  }
  tensorflow::GraphDef def;
  part.ToGraphDef(&def, /*include_flib_def=*/false);
  if (def.ByteSizeLong() > kMostBytes || !tensorflow::SerializeToStringDeterministic(def, frame)) {
    return Rejected("large frame", "a graph of this size cannot be an attribute");
  }
  return absl::OkStatus();
}

// A Merge of `value` alone, which has the same value and may be dead like it.
absl::StatusOr<Source> AddMerge(const std::string& name, Source value, const Node& place,
                                Graph* graph) {
  NodeDef def;
  def.set_name(graph->NewName(name));
  def.set_op(ops::kMerge);
  def.set_device(place.assigned_device_name());
  AddNodeAttr("T", tensorflow::BaseType(value.node->output_type(value.slot)), &def);
  AddNodeAttr("N", 1, &def);
  AddNodeAttr(kAdded, true, &def);
  return AddReplacement(std::move(def), {value}, place, {}, graph);
}

// FindLoops for the loops inside of `frame`.
std::vector<const Frame*> FindLoopsIn(
    const Frame& frame, WaitingNodes* waiting, const FunctionLibraryDefinition* library,
    bool in_session, const std::function<void(const Frame&, const absl::Status&)>& left) {
  std::vector<const Frame*> found;
  if (frame.children.empty()) return found;
  const absl::StatusOr<std::vector<Item>> order = OrderOf(frame);
  if (!order.ok()) {
    const absl::Status odd = Rejected("unsupported frame", order.status().message());
    for (const Frame* loop : frame.children) left(*loop, odd);
    return found;
  }
  const Liveness liveness(frame, *order);
  for (const Frame* loop : frame.children) {
    const absl::Status status = Check(*loop, liveness, waiting, library, in_session);
    if (status.ok()) {
      found.push_back(loop);
    } else {
      left(*loop, status);
      const auto inner = FindLoopsIn(*loop, waiting, library, in_session, left);
      found.insert(found.end(), inner.begin(), inner.end());
    }
  }
  return found;
}

}  // namespace

std::vector<const Frame*> FindLoops(
    const Frame& root, const FunctionLibraryDefinition* library, bool in_session,
    const std::function<void(const Frame&, const absl::Status&)>& left) {
  WaitingNodes waiting(root, library);
  return FindLoopsIn(root, &waiting, library, in_session, left);
}

absl::Status InsertRunLoop(const Frame& loop, int64_t record, bool in_session, Graph* graph) {
  const std::vector<Node*> enters = InInputOrder(loop);
  std::string frame;
  const absl::Status extracted = Extract(loop, enters, *graph, &frame);
  ForgetKnownValues(loop);
  TF_RETURN_IF_ERROR(extracted);
  std::vector<Source> inputs;
  tensorflow::DataTypeVector variables, constants;
  for (const Node* enter : enters) {
    inputs.push_back(InputOf(*enter, 0));
    (IsConstantEnter(*enter) ? constants : variables).push_back(enter->output_type(0));
  }
  const std::string name = absl::StrCat(loop.name, "_in_one_kernel");
  NodeDef def;
  def.set_name(graph->NewName(name));
  def.set_op(in_session ? ops::kRunLoopInSession : ops::kRunLoop);
  def.set_device(enters.front()->assigned_device_name());
  AddNodeAttr("T", variables, &def);
  AddNodeAttr("U", constants, &def);
  AddNodeAttr("frame", frame, &def);
  AddNodeAttr("takes_locks", TakesLocks(loop), &def);
  AddNodeAttr("record", record, &def);
  const Node& place = *loop.loop_conds.front();
  if (in_session) {
    TF_ASSIGN_OR_RETURN(inputs[0], AddMerge(absl::StrCat(name, "/input"), inputs[0], place, graph));
  }
  TF_ASSIGN_OR_RETURN(const Source run,
                      AddReplacement(std::move(def), inputs, place, enters, graph));
  for (size_t i = 0; i < variables.size(); ++i) {
    TF_RETURN_IF_ERROR(graph->UpdateEdge(run.node, static_cast<int>(i), enters[i], 0));
  }
  return absl::OkStatus();
}

// The first inputs of a RunLoop are the variables; output i continues variable i. In a Session, the
// first input comes from AddMerge. TensorFlow may have merged the Merges of several loops into one.
absl::Status RemoveRunLoops(Graph* graph) {
  std::vector<Node*> runs;
  for (Node* node : graph->op_nodes()) {
    const std::string& op = node->type_string();
    if (op == ops::kRunLoop || op == ops::kRunLoopInSession) runs.push_back(node);
  }
  for (Node* run : runs) {
    Node* const first = InputOf(*run, 0).node;
    Node* const merge = HasNodeAttr(first->def(), kAdded) ? first : nullptr;
    for (int i = 0; i < run->num_outputs(); ++i) {
      const Source value = i == 0 && merge != nullptr ? InputOf(*merge, 0) : InputOf(*run, i);
      TF_RETURN_IF_ERROR(MoveOutput(run, i, value, graph));
    }
    graph->RemoveNode(run);
    if (merge != nullptr) RemoveUnused({merge}, graph);
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
