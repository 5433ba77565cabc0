#include "cc/graph/ref_variable_watch.h"

#include <algorithm>

#include "cc/core/ref_variables.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Graph;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::Node;
using tensorflow::OptimizationPassRegistry;

constexpr int kPhase = 100;  // any would do

bool HasRefOutput(const Graph& graph) {
  for (const Node* node : graph.op_nodes()) {
    const auto& types = node->output_types();
    if (std::any_of(types.begin(), types.end(), tensorflow::IsRefType)) return true;
  }
  return false;
}

REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kPhase, RefVariableWatch);
REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_PARTITIONING, kPhase, RefVariableWatch);

}  // namespace

absl::Status RefVariableWatch::Run(const GraphOptimizationPassOptions& options) {
  if (options.graph != nullptr && HasRefOutput(**options.graph)) NoteRefVariables();
  if (options.partition_graphs == nullptr) return absl::OkStatus();
  for (const auto& [device, graph] : *options.partition_graphs) {
    if (HasRefOutput(*graph)) NoteRefVariables();
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
