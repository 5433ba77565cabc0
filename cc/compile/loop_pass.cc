#include "cc/compile/loop_pass.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/log.h"
#include "cc/base/loop_record.h"
#include "cc/base/switches.h"
#include "cc/compile/eligibility.h"
#include "cc/compile/inline_call.h"
#include "cc/compile/insert_run_loop.h"
#include "cc/compile/watch_loop.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/loop_facts.h"
#include "cc/flow/node_util.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace tensor_array_grad {
namespace {

using introspection::Loop;
using tensorflow::GraphOptimizationPassOptions;

constexpr int kPhase = 200;  // after oneDNN's pass, which renames nodes

std::atomic<bool>& Enabled() {
  static std::atomic<bool> enabled{!SaysOff(Environment("TENSOR_ARRAY_GRAD_LOOPS"))};
  return enabled;
}

Counter rewritten("loops.rewritten");

// Reports that the executor runs all loops of a graph.
void ReportAll(absl::string_view reason, absl::string_view detail) {
  Loop all;
  all.name = "(all)";
  all.left = absl::StrCat(reason, ": ", detail);
  Report(LoopRecord(std::move(all)));
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
  static const bool has = !tensorflow::GetRegisteredKernelsForOp(ops::kRunLoop).kernel().empty();
  return has;
}

bool HasLoop(const Graph& graph) {
  for (const Node* node : graph.op_nodes()) {
    if (node->IsEnter()) return true;
  }
  return false;
}

// The loops of a graph with what is known of them.
class Loops {
 public:
  // `why` is empty for a loop that runs in one kernel. Of a loop on several devices, the part with
  // its condition counts.
  void Add(const Frame& loop, int64_t id, const absl::Status& why) {
    if (loop.loop_conds.empty()) return;
    Loop facts = FactsOf(loop);
    facts.id = id;
    facts.is_watched = AreLoopsWatched() && loop.loop_conds.size() == 1;
    facts.left = std::string(why.message());
    facts.cause = OriginOf(CauseOf(why), loop);
    if (const auto outer = ids_.find(loop.parent); outer != ids_.end()) facts.outer = outer->second;
    ids_[&loop] = id;
    all_.push_back(std::move(facts));
  }

  const std::vector<Loop>& all() const { return all_; }
  const std::unordered_map<const Frame*, int64_t>& ids() const { return ids_; }

 private:
  std::vector<Loop> all_;
  std::unordered_map<const Frame*, int64_t> ids_;
};

// Calls `left` for each loop inside of `frame`.
template <typename Left>
void LeaveAll(const Frame& frame, const Left& left) {
  for (const Frame* loop : frame.children) {
    left(*loop, Rejected("switched off", "loops in one kernel"));
    LeaveAll(*loop, left);
  }
}

// Puts a RunLoop in front of each loop of the frame `root` that can run in one kernel, and adds all
// to `loops`. On error the graph may be half changed.
absl::Status InsertRunLoops(const Frame& root, const GraphOptimizationPassOptions& options,
                            Graph* graph, Loops* loops) {
  const bool in_session = !options.is_function_graph;
  const auto left = [&](const Frame& loop, const absl::Status& why) {
    loops->Add(loop, NewLoopId(), why);
  };
  std::vector<const Frame*> found;
  if (AreLoopsEnabled()) {
    found = FindLoops(root, options.flib_def, in_session, left);
  } else {
    LeaveAll(root, left);
  }
  for (const Frame* loop : found) {
    const int64_t id = NewLoopId();
    const absl::Status status = InsertRunLoop(*loop, id, in_session, graph);
    if (!status.ok() && !absl::IsFailedPrecondition(status)) return status;
    loops->Add(*loop, id, status);
  }
  if (!AreLoopsWatched()) return absl::OkStatus();
  for (const auto& [loop, id] : loops->ids()) {
    TF_RETURN_IF_ERROR(WatchInExecutor(*loop, id, graph));
  }
  return absl::OkStatus();
}

void ReportFailure(const std::exception& error) {
  IfMemoryAllows([&] { ReportAll("failure", error.what()); });
}

// As InsertRunLoops, but leaves the graph as it was, without marks in its loops, on an error or
// exception.
void RewriteLoops(const GraphOptimizationPassOptions& options, std::unique_ptr<Graph>* graph) {
  if (!HasLoop(**graph)) return;
  Loops loops;
  const auto insert = [&] {
    const absl::StatusOr<FrameTree> tree = FrameTree::Of(**graph);
    if (tree.ok()) return InsertRunLoops(tree->root(), options, graph->get(), &loops);
    ReportAll("unsupported frame", tree.status().message());
    return absl::OkStatus();
  };
  const absl::Status status = ChangeOrRestore(insert, graph);
  if (!status.ok()) return ReportAll("failure", status.message());
  IfMemoryAllows([&] {
    for (const Loop& loop : loops.all()) Report(*AddLoop(loop));
  });
}

void RewritePartitions(const GraphOptimizationPassOptions& options) {
  for (auto& [device, graph] : *options.partition_graphs) {
    try {
      if (!RunsHere(device, options)) continue;
      if (options.partition_graphs->size() == 1) OfferToCapture(*graph, options.flib_def);
      RewriteLoops(options, &graph);
    } catch (const std::exception& error) {
      ReportFailure(error);
    }
  }
}

REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kPhase,
                      LoopPass);
REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::POST_PARTITIONING, kPhase, LoopPass);

}  // namespace

void SetLoopsEnabled(bool enabled) { Enabled().store(enabled, std::memory_order_relaxed); }
bool AreLoopsEnabled() { return Enabled().load(std::memory_order_relaxed); }

void Report(const LoopRecord& record) {
  const Loop loop = record.Describe();
  loop.left.empty() ? rewritten.Add()
                    : CounterNamed(absl::StrCat("loops.left.", ReasonOf(loop.left))).Add();
  if (!IsLogged(LogLevel::kLoops)) return;
  const char* const where =
      loop.left.empty() ? "runs in one kernel" : "left to TensorFlow's executor, ";
  LogLine(absl::StrCat("loop ", loop.name, record.line().empty() ? "" : " (", record.line(),
                       record.line().empty() ? ": " : "): ", where, loop.left));
}

absl::Status LoopPass::Run(const GraphOptimizationPassOptions& options) {
  try {
    NoteLocalDevices(options);
    const bool looks = AreLoopsEnabled() || AreLoopsWatched();
    if (looks && options.partition_graphs != nullptr && HasKernel()) {
      RewritePartitions(options);
    }
  } catch (const std::exception& error) {
    ReportFailure(error);
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
