#include "cc/rewrite/mutable_tensor_watch.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "cc/base/mutable_tensors.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/op_facts.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {
namespace {

using tensorflow::FunctionDef;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::OptimizationPassRegistry;

constexpr int kWatchPhase = 100;  // its place among the passes does not matter

// Searches nodes, and the functions that they name, for ops that change a tensor in place.
// Functions are searched because some are inlined after the last pass. Each function is searched
// once.
class Search {
 public:
  explicit Search(const FunctionLibraryDefinition* functions) : functions_(functions) {}

  bool Finds(const NodeDef& node) {
    if (HasFact(node.op(), kWritesInput | kOutputsRef) || FindsInFunction(node.op())) return true;
    for (const auto& [name, value] : node.attr()) {
      if (value.has_func() && FindsInFunction(value.func().name())) return true;
      for (const auto& function : value.list().func()) {
        if (FindsInFunction(function.name())) return true;
      }
    }
    return false;
  }

 private:
  bool FindsInFunction(const std::string& name) {
    const FunctionDef* const function = functions_ == nullptr ? nullptr : functions_->Find(name);
    if (function == nullptr || !seen_.insert(name).second) return false;
    const auto& nodes = function->node_def();
    return std::any_of(nodes.begin(), nodes.end(),
                       [this](const NodeDef& node) { return Finds(node); });
  }

  const FunctionLibraryDefinition* const functions_;
  std::unordered_set<std::string> seen_;
};

bool FoundIn(const Graph& graph, const FunctionLibraryDefinition* functions) {
  Search search(functions);
  for (const tensorflow::Node* node : graph.op_nodes()) {
    if (search.Finds(node->def())) return true;
  }
  return false;
}

REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kWatchPhase,
                      MutableTensorWatch);
REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_PARTITIONING, kWatchPhase, MutableTensorWatch);

}  // namespace

absl::Status MutableTensorWatch::Run(const GraphOptimizationPassOptions& options) {
  if (HasMutableTensors()) return absl::OkStatus();
  if (options.graph != nullptr && FoundIn(**options.graph, options.flib_def)) {
    NoteMutableTensors();
  }
  if (options.partition_graphs == nullptr) return absl::OkStatus();
  for (const auto& [device, graph] : *options.partition_graphs) {
    if (FoundIn(*graph, options.flib_def)) NoteMutableTensors();
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
