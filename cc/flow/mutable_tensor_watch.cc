#include <exception>

#include "absl/status/status.h"
#include "cc/base/mutable_tensors.h"
#include "cc/flow/function_search.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/op_facts.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/function.h"

namespace tensor_array_grad {
namespace {

using tensorflow::FunctionLibraryDefinition;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::OptimizationPassRegistry;

constexpr int kWatchPhase = 100;  // its place among the passes does not matter

bool FoundIn(const Graph& graph, const FunctionLibraryDefinition* functions) {
  // Functions are searched because some are inlined after the last pass.
  const auto has = [](const NodeDef& node) {
    return HasFact(node.op(), kWritesInput | kOutputsRef);
  };
  FunctionNames seen;
  for (const Node* node : graph.op_nodes()) {
    if (FindReachable(node->def(), functions, has, &seen) != nullptr) return true;
  }
  return false;
}

bool FoundInAny(const GraphOptimizationPassOptions& options) {
  if (options.graph != nullptr && FoundIn(**options.graph, options.flib_def)) return true;
  if (options.partition_graphs == nullptr) return false;
  for (const auto& [device, graph] : *options.partition_graphs) {
    if (FoundIn(*graph, options.flib_def)) return true;
  }
  return false;
}

// Sets the flag of cc/base/mutable_tensors.h, which the kernels read, if a graph about to be
// executed, or a function that it calls at any depth, has an op that changes tensors in place.
//
// The pass changes no graph. It also searches graphs that RewritePass skips. It is registered at
// POST_REWRITE_FOR_EXEC, and at POST_PARTITIONING for the workers of a distributed session, which
// run no earlier pass. O(nodes) per graph; O(1) once such an op has been found. If a search fails,
// for lack of memory, the flag is set, which is always safe. Run always returns OK.
class MutableTensorWatch : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    if (HasMutableTensors()) return absl::OkStatus();
    try {
      if (FoundInAny(options)) NoteMutableTensors();
    } catch (const std::exception&) {
      NoteMutableTensors();
    }
    return absl::OkStatus();
  }
};

REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kWatchPhase,
                      MutableTensorWatch);
REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_PARTITIONING, kWatchPhase, MutableTensorWatch);

}  // namespace
}  // namespace tensor_array_grad
