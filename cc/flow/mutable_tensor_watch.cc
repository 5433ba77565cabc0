#include "cc/flow/mutable_tensor_watch.h"

#include "cc/base/mutable_tensors.h"
#include "cc/flow/function_search.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/op_facts.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {
namespace {

using tensorflow::FunctionLibraryDefinition;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::OptimizationPassRegistry;

constexpr int kWatchPhase = 100;  // its place among the passes does not matter

bool FoundIn(const Graph& graph, const FunctionLibraryDefinition* functions) {
  // Functions are searched because some are inlined after the last pass.
  FunctionSearch search(functions, [](const NodeDef& node) {
    return HasFact(node.op(), kWritesInput | kOutputsRef);
  });
  for (const tensorflow::Node* node : graph.op_nodes()) {
    if (search.Find(node->def()) != nullptr) return true;
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
