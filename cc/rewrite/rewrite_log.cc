#include "cc/rewrite/rewrite_log.h"

#include <atomic>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cc/base/log.h"
#include "cc/base/mutex.h"
#include "tensorflow/core/graph/control_flow.h"

namespace tensor_array_grad {
namespace {

constexpr size_t kMostRecords = 10'000;

std::atomic<bool> are_kept{false};

struct Kept {
  Mutex mu;
  std::deque<GraphRemarks> graphs ABSL_GUARDED_BY(mu);
  size_t records ABSL_GUARDED_BY(mu) = 0;
};

Kept& KeptRemarks() {
  static auto* const kept = new Kept;
  return *kept;
}

size_t RecordsOf(const GraphRemarks& graph) { return graph.done.size() + graph.missed.size(); }

}  // namespace

void SetRemarksWanted(bool wanted) { are_kept.store(wanted, std::memory_order_relaxed); }

bool AreRemarksWanted() {
  return are_kept.load(std::memory_order_relaxed) || IsLogged(LogLevel::kRewrites);
}

void KeepRemarks(GraphRemarks graph) {
  if (!are_kept.load(std::memory_order_relaxed) || RecordsOf(graph) == 0) return;
  Kept& kept = KeptRemarks();
  MutexLock lock(&kept.mu);
  kept.records += RecordsOf(graph);
  kept.graphs.push_back(std::move(graph));
  while (kept.records > kMostRecords && kept.graphs.size() > 1) {
    kept.records -= RecordsOf(kept.graphs.front());
    kept.graphs.pop_front();
  }
}

std::vector<GraphRemarks> TakeRemarks() {
  Kept& kept = KeptRemarks();
  MutexLock lock(&kept.mu);
  kept.records = 0;
  const std::deque<GraphRemarks> graphs = std::exchange(kept.graphs, {});
  return {graphs.begin(), graphs.end()};
}

Frames FramesOf(const Graph& graph) {
  Frames frames;
  std::vector<tensorflow::ControlFlowInfo> info;
  if (!tensorflow::BuildControlFlowInfo(&graph, &info).ok()) return frames;
  for (const Node* node : graph.op_nodes()) frames[node->name()] = info[node->id()].frame_name;
  return frames;
}

void SetLoops(const Graph& graph, Frames before, GraphRemarks* remarks) {
  Frames frames = FramesOf(graph);
  frames.merge(before);
  for (Rewrite& rewrite : remarks->done) rewrite.loop = frames[rewrite.by];
  for (Remark& remark : remarks->missed) remark.loop = frames[remark.node];
}

std::vector<std::string> SummaryPerLoop(const GraphRemarks& remarks) {
  std::map<std::string, std::vector<std::pair<std::string, int>>> counts;  // by loop and rule
  for (const Rewrite& rewrite : remarks.done) {
    auto& of_loop = counts[rewrite.loop];
    if (of_loop.empty() || of_loop.back().first != rewrite.rule)
      of_loop.emplace_back(rewrite.rule, 0);
    ++of_loop.back().second;
  }
  std::vector<std::string> lines;
  for (const auto& [loop, of_loop] : counts) {
    lines.push_back(absl::StrCat(loop.empty() ? "outside of loops" : absl::StrCat("loop ", loop),
                                 ": ", absl::StrJoin(of_loop, ", ", absl::PairFormatter(" "))));
  }
  return lines;
}

std::vector<std::string> LinePerRewrite(const GraphRemarks& remarks) {
  std::vector<std::string> lines;
  for (const Rewrite& rewrite : remarks.done) {
    lines.push_back(absl::StrCat(rewrite.rule, ": ", rewrite.replaced, " -> ", rewrite.by));
  }
  for (const Remark& remark : remarks.missed) {
    const std::string where = remark.loop.empty() ? "" : absl::StrCat(" in loop ", remark.loop);
    lines.push_back(absl::StrCat(remark.rule, " missed ", remark.node, where, ": ", remark.text));
  }
  return lines;
}

}  // namespace tensor_array_grad
