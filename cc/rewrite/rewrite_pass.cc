#include "cc/rewrite/rewrite_pass.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cc/base/counters.h"
#include "cc/base/log.h"
#include "cc/base/loop_record.h"
#include "cc/base/switches.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/node_util.h"
#include "cc/rewrite/rewrite_log.h"
#include "cc/rewrite/rule.h"
#include "cc/rewrite/rules.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/logging.h"

namespace tensor_array_grad {
namespace {

using tensorflow::GraphOptimizationPassOptions;

// After the passes that mark, cut out and build XLA clusters (up to 60).
constexpr int kRulesPhase = 100;

std::atomic<bool> enabled{true};

Counter failures("graph_pass.failures");

// The rules in the order in which they run.
std::vector<Rule> AllRules() {
  std::vector<Rule> all;
  for (const Rule& rule : {SumOfEqualsRule(), StackOfEqualsRule(), AccumulateIntoListRule(),
                           SliceSumRule(), RecomputeRule(), LoopStackRule()}) {
    if (!IsLeftOut(rule.name)) all.push_back(rule);
  }
  return all;
}

Counter& RewritesOf(absl::string_view rule) { return CounterNamed(absl::StrCat("graph.", rule)); }

// Logs `outcome`, and marks loops with it, as far as that is asked for. `before`: SetLoops.
void Report(Frames before, Outcome outcome, Graph* graph) {
  if (!IsLogged(LogLevel::kLoops) && !AreRemarksWanted()) return;
  IfMemoryAllows([&] {
    SetLoops(*graph, std::move(before), &outcome);
    if (IsLogged(LogLevel::kRewrites)) {
      for (const std::string& line : LinePerRewrite(outcome)) LogLine(line);
    }
    if (IsLogged(LogLevel::kLoops)) {
      for (const std::string& line : SummaryPerLoop(outcome)) LogLine(line);
    }
    if (AreLoopsWatched()) MarkLoops(outcome, graph);
  });
}

void ReportFailure(absl::string_view why) {
  failures.Add();
  IfMemoryAllows([&] {
    LOG(WARNING) << "tensor_array_grad: a graph is left as it was, as a rule failed: " << why;
  });
}

// Whether XLA compiles the whole function from its definition. XLA has no kernels for this
// library's ops.
bool IsForXla(const GraphOptimizationPassOptions& options) {
  if (options.function_def == nullptr) return false;
  const auto& attributes = options.function_def->attr();
  const auto found = attributes.find("_XlaMustCompile");
  return found != attributes.end() && found->second.b();
}

// Whether `node` runs in this process. Another process may not have this library and its ops.
bool RunsHere(const Node& node, const GraphOptimizationPassOptions& options) {
  if (options.device_set == nullptr) return true;
  const auto* const device = options.device_set->FindDeviceByName(node.assigned_device_name());
  return device == nullptr || device->IsLocal();
}

// The ids of the nodes to which the rule is to be applied. They are collected before the rule runs,
// because a rewrite adds nodes, and removes nodes that may be candidates too. Apply therefore looks
// each id up again. TensorFlow never gives an id to a second node.
std::vector<int> Candidates(const Rule& rule, const GraphOptimizationPassOptions& options) {
  std::vector<int> candidates;
  for (const Node* node : (*options.graph)->op_nodes()) {
    if (rule.may_apply(*node) && RunsHere(*node, options)) candidates.push_back(node->id());
  }
  return candidates;
}

absl::Status Apply(const Rule& rule, const std::vector<int>& candidates, Graph* graph,
                   Outcome* outcome) {
  for (int id : candidates) {
    Node* const node = graph->FindNodeId(id);
    if (node != nullptr) TF_RETURN_IF_ERROR(rule.apply(node, graph, outcome));
  }
  return absl::OkStatus();
}

REGISTER_OPTIMIZATION(tensorflow::OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kRulesPhase,
                      RewritePass);

}  // namespace

void SetGraphPassEnabled(bool value) { enabled.store(value, std::memory_order_relaxed); }
bool IsGraphPassEnabled() { return enabled.load(std::memory_order_relaxed); }

RewritePass::RewritePass() : RewritePass(AllRules()) {}

RewritePass::RewritePass(const std::vector<Rule>& rules) : rules_(rules) {
  for (const Rule& rule : rules) {
    RewritesOf(rule.name);  // so that the count is 0 from the beginning
  }
}

// A rule can only find candidates that another rule made if that one had some itself.
absl::Status RewritePass::ApplyAll(const GraphOptimizationPassOptions& options) const {
  if (std::all_of(rules_.begin(), rules_.end(),
                  [&](const Rule& rule) { return Candidates(rule, options).empty(); })) {
    return absl::OkStatus();
  }
  Outcome outcome{{}, "", AreRemarksWanted()};
  Frames before;
  if (outcome.wants_remarks) before = FramesOf(**options.graph);
  const auto apply = [&]() -> absl::Status {
    for (const Rule& rule : rules_) {
      outcome.rule = rule.name;
      const absl::Status status =
          Apply(rule, Candidates(rule, options), options.graph->get(), &outcome);
      if (!status.ok()) {
        return absl::InternalError(absl::StrCat(rule.name, ": ", status.message()));
      }
    }
    return absl::OkStatus();
  };
  TF_RETURN_IF_ERROR(ChangeOrRestore(apply, options.graph));
  for (const Rewrite& rewrite : outcome.done) RewritesOf(rewrite.rule).Add();
  Report(std::move(before), std::move(outcome), options.graph->get());
  return absl::OkStatus();
}

absl::Status RewritePass::Run(const GraphOptimizationPassOptions& options) {
  if (!IsGraphPassEnabled() || options.graph == nullptr) return absl::OkStatus();
  try {
    if (IsForXla(options)) return absl::OkStatus();
    const absl::Status applied = ApplyAll(options);
    if (!applied.ok()) ReportFailure(applied.message());
  } catch (const std::exception& error) {
    ReportFailure(error.what());
  }
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
