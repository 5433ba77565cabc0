#include "cc/compile/loop_pass.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/log.h"
#include "cc/base/switches.h"
#include "cc/compile/eligibility.h"
#include "cc/compile/inline_call.h"
#include "cc/compile/insert_run_loop.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace tensor_array_grad {
namespace {

using tensorflow::GraphOptimizationPassOptions;

constexpr int kPhase = 200;  // after oneDNN's pass, which renames nodes

std::atomic<bool>& Enabled() {
  static std::atomic<bool> enabled{!SaysOff(Environment("TENSOR_ARRAY_GRAD_LOOPS"))};
  return enabled;
}

Counter rewritten("loops.rewritten");

void Log(absl::string_view loop, absl::string_view what) {
  if (IsLogged(LogLevel::kLoops)) LogLine(absl::StrCat("loop ", loop, ": ", what));
}

// The names of this process's devices, recorded when a function was last placed on this thread.
//
// The partitions of a function may belong to other processes, which may not have the library. The
// pass sees which devices are local when the function is placed (POST_REWRITE_FOR_EXEC), but not
// when it has been partitioned (POST_PARTITIONING). Both happen on one thread, one after the other
// (process_function_library_runtime.cc).
std::set<std::string>& LocalDevices() {
  static thread_local std::set<std::string> devices;
  return devices;
}

void NoteLocalDevices(const GraphOptimizationPassOptions& options) {
  if (options.device_set == nullptr) return;
  LocalDevices().clear();
  for (const tensorflow::Device* device : options.device_set->devices()) {
    if (device->IsLocal()) LocalDevices().insert(device->name());
  }
}

// Whether a RunLoop on `device` would run in this process, on a CPU.
bool RunsHere(const std::string& device, const GraphOptimizationPassOptions& options) {
  tensorflow::DeviceNameUtils::ParsedName name;
  if (!tensorflow::DeviceNameUtils::ParseFullName(device, &name) || name.type != "CPU") {
    return false;
  }
  // Sessions run this phase in the process that owns the partitions.
  return !options.is_function_graph || LocalDevices().count(device) != 0;
}

// Whether RunLoop has a kernel. It has none if the library did not register its kernels.
bool HasKernel() {
  static const bool has =
      !tensorflow::GetRegisteredKernelsForOp("TensorArrayGrad>RunLoop").kernel().empty();
  return has;
}

bool HasLoop(const Graph& graph) {
  for (const Node* node : graph.op_nodes()) {
    if (node->IsEnter()) return true;
  }
  return false;
}

// Puts a RunLoop in front of each loop of `graph` that can run in one kernel, appends their names
// to `names`, and counts the others. On error the graph may be half changed.
absl::Status InsertRunLoops(const GraphOptimizationPassOptions& options, Graph* graph,
                            std::vector<std::string>* names) {
  const absl::StatusOr<FrameTree> tree = FrameTree::Of(*graph);
  if (!tree.ok()) {
    CountRejected("(all)", Rejected("unsupported frame", tree.status().message()));
    return absl::OkStatus();
  }
  const bool in_session = !options.is_function_graph;
  const auto left = [](const Frame& loop, const absl::Status& why) {
    CountRejected(loop.name, why);
  };
  for (const Frame* loop : FindLoops(tree->root(), options.flib_def, in_session, left)) {
    const absl::Status status = InsertRunLoop(*loop, in_session, graph);
    if (status.ok()) {
      names->push_back(loop->name);
    } else if (absl::IsFailedPrecondition(status)) {
      left(*loop, status);
    } else {
      return status;
    }
  }
  return absl::OkStatus();
}

// The graph has been changed, so that a lack of memory for the lines is no failure.
void LogIfPossible(const std::vector<std::string>& names) {
  try {
    for (const std::string& name : names) Log(name, "runs in one kernel");
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory to say more
  }
}

// As InsertRunLoops, but leaves the graph as it was, without marks in its loops, on an error or
// exception.
// Loops are counted as rewritten when all are.
void RewriteLoops(const GraphOptimizationPassOptions& options, std::unique_ptr<Graph>* graph) {
  if (!HasLoop(**graph)) return;
  std::vector<std::string> names;
  const absl::Status status =
      ChangeOrRestore([&] { return InsertRunLoops(options, graph->get(), &names); }, graph);
  if (!status.ok()) {
    CountRejected("(all)", Rejected("failure", status.message()));
    return;
  }
  rewritten.Add(static_cast<int64_t>(names.size()));
  LogIfPossible(names);
}

// Counts a failure of the pass, unless there is no memory for this either.
void CountFailure(const std::exception& error) {
  try {
    CountRejected("(all)", Rejected("failure", error.what()));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory to say more
  }
}

void RewritePartitions(const GraphOptimizationPassOptions& options) {
  for (auto& [device, graph] : *options.partition_graphs) {
    try {
      if (!RunsHere(device, options)) continue;
      if (options.partition_graphs->size() == 1) OfferToCapture(*graph, options.flib_def);
      RewriteLoops(options, &graph);
    } catch (const std::exception& error) {
      CountFailure(error);
    }
  }
}

REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kPhase,
                      LoopPass);
REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::POST_PARTITIONING, kPhase, LoopPass);

}  // namespace

void SetLoopsEnabled(bool enabled) { Enabled().store(enabled, std::memory_order_relaxed); }
bool AreLoopsEnabled() { return Enabled().load(std::memory_order_relaxed); }

void CountRejected(absl::string_view loop, const absl::Status& why) {
  Log(loop, absl::StrCat("left to TensorFlow's executor, ", why.message()));
  CounterNamed(absl::StrCat("loops.left.", ReasonOf(why))).Add();
}

absl::Status LoopPass::Run(const GraphOptimizationPassOptions& options) {
  try {
    NoteLocalDevices(options);
    if (AreLoopsEnabled() && options.partition_graphs != nullptr && HasKernel()) {
      RewritePartitions(options);
    }
  } catch (const std::exception& error) {
    CountFailure(error);
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
