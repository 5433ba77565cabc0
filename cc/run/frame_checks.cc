#include "cc/run/frame_checks.h"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cc/base/invalid.h"
#include "cc/compile/eligibility.h"
#include "cc/flow/node_util.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace tensor_array_grad {
namespace {

// The error of a frame that does not fit the op.
template <typename... Args>
absl::Status Contradiction(const Args&... args) {
  return Invalid("The attribute frame of RunLoop ", args...);
}

// Returns an error for a GraphDef on which ConvertGraphDefToGraph would end the process: it expects
// that a Merge of a NextIteration has one other input.
absl::Status CheckMerges(const tensorflow::GraphDef& def) {
  std::unordered_set<absl::string_view> next_iterations;
  for (const NodeDef& node : def.node()) {
    if (node.op() == "NextIteration" || node.op() == "RefNextIteration") {
      next_iterations.insert(node.name());
    }
  }
  for (const NodeDef& node : def.node()) {
    if (node.op() != ops::kMerge && node.op() != "RefMerge") continue;
    int next = 0, others = 0;
    for (const std::string& input : node.input()) {
      const tensorflow::TensorId source = tensorflow::ParseTensorName(input);
      if (source.index() < 0) continue;  // a control input
      ++(next_iterations.count(source.node()) != 0 ? next : others);
    }
    if (next == 0 || others < 2) continue;
    return Rejected("unsupported frame", absl::StrCat("Merge '", node.name(), "' has ", others,
                                                      " inputs beside a NextIteration"));
  }
  return absl::OkStatus();
}

// Returns an error for a node that says of itself that it has more inputs or outputs than a node
// can have, for which ConvertGraphDefToGraph would allocate memory.
absl::Status CheckNumbers(const tensorflow::GraphDef& def) {
  constexpr int64_t kMostOutputs = 1 << 16;
  for (const NodeDef& node : def.node()) {
    const auto* const op = tensorflow::OpRegistry::Global()->LookUp(node.op());
    if (op == nullptr) continue;
    const auto check = [&](const auto& args, int64_t most) {
      return std::all_of(args.begin(), args.end(), [&](const auto& arg) {
        const auto number = node.attr().find(arg.number_attr());
        return number == node.attr().end() || number->second.i() <= most;
      });
    };
    if (!check(op->op_def.input_arg(), node.input_size()) ||
        !check(op->op_def.output_arg(), kMostOutputs)) {
      return Rejected("unsupported frame", absl::StrCat("'", node.name(), "' has an attribute for ",
                                                        "more inputs or outputs than it has"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Graph>> GraphOf(const std::string& frame) {
  tensorflow::GraphDef def;
  if (!def.ParseFromString(frame)) {
    return Contradiction("is no GraphDef, but ", frame.size(), " other bytes");
  }
  TF_RETURN_IF_ERROR(CheckMerges(def));
  TF_RETURN_IF_ERROR(CheckNumbers(def));
  auto graph = std::make_unique<Graph>(tensorflow::OpRegistry::Global());
  tensorflow::GraphConstructorOptions options;
  options.allow_internal_ops = true;
  options.expect_device_spec = true;
  const absl::Status made =
      tensorflow::ConvertGraphDefToGraph(options, std::move(def), graph.get());
  if (!made.ok()) return Rejected("unsupported frame", made.message());
  for (const Node* node : graph->op_nodes()) {  // which TensorFlow does not check
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (InputOf(*node, i).node != nullptr) continue;
      return Rejected("unsupported frame", absl::StrCat("'", node->name(), "' has no input ", i));
    }
  }
  return graph;
}

absl::Status CheckArguments(const Graph& graph, const LoopInputs& inputs) {
  const int count = static_cast<int>(inputs.types.size());
  std::vector<const Node*> found(count, nullptr);
  for (const Node* node : graph.op_nodes()) {
    if (!node->IsArg()) continue;
    int index = -1;
    TryGetNodeAttr(node->attrs(), "index", &index);
    if (index < 0 || index >= count) {
      return Contradiction("has an _Arg '", node->name(), "' of index ", index, ", but the op has ",
                           count, " inputs");
    }
    if (found[index] != nullptr) {
      return Contradiction("has two _Args of index ", index, ", '", found[index]->name(), "' and '",
                           node->name(), "'");
    }
    found[index] = node;
    if (node->output_type(0) == inputs.types[index]) continue;
    return Contradiction("has an _Arg '", node->name(), "' of ",
                         DataTypeString(node->output_type(0)), ", but input ", index,
                         " of the op is ", DataTypeString(inputs.types[index]));
  }
  const auto missing = std::find(found.begin(), found.end(), nullptr);
  if (missing == found.end()) return absl::OkStatus();
  return Contradiction("has no _Arg of index ", missing - found.begin(), ", but the op has ", count,
                       " inputs");
}

absl::Status NumberEnters(const Frame& loop, const LoopInputs& inputs, std::vector<int>* indices) {
  std::vector<const Node*> enter_of(inputs.types.size(), nullptr);
  for (const Node* enter : loop.enters) {
    const Node& argument = *InputOf(*enter, 0).node;
    int index = -1;
    if (!argument.IsArg() || !TryGetNodeAttr(argument.attrs(), "index", &index)) {
      return Contradiction("has an Enter '", enter->name(), "' that reads '", argument.name(),
                           "' (", argument.type_string(), "), and an _Arg is needed");
    }
    if (enter_of[index] != nullptr) {
      return Contradiction("has two Enters of input ", index, ", '", enter_of[index]->name(),
                           "' and '", enter->name(), "'");
    }
    for (const Edge* edge : enter->in_edges()) {
      if (!edge->IsControlEdge() || edge->src()->IsSource()) continue;
      return Contradiction("has an Enter '", enter->name(), "' that waits for '",
                           edge->src()->name(), "', but only the op may wait");
    }
    enter_of[index] = enter;
    indices->push_back(index);
    if (IsConstantEnter(*enter) == (index >= inputs.variables)) continue;
    return Contradiction("has an Enter '", enter->name(), "' of a ",
                         IsConstantEnter(*enter) ? "constant" : "variable", ", which is input ",
                         index, ", but the first ", inputs.variables,
                         " inputs of the op are its variables");
  }
  const auto missing = std::find(enter_of.begin(), enter_of.end(), nullptr);
  if (missing == enter_of.end()) return absl::OkStatus();
  return Contradiction("has no Enter of input ", missing - enter_of.begin(), ", but the op has ",
                       inputs.types.size(), " inputs");
}

}  // namespace tensor_array_grad
