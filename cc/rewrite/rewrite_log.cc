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

std::atomic<bool> are_kept{false};

// The newest outcomes.
class KeptOutcomes {
 public:
  static KeptOutcomes& Get() {
    static auto* const kept = new KeptOutcomes;
    return *kept;
  }

  void Add(Outcome outcome) {
    MutexLock lock(&mu_);
    records_ += RecordsOf(outcome);
    outcomes_.push_back(std::move(outcome));
    while (records_ > kMostRecords && outcomes_.size() > 1) {
      records_ -= RecordsOf(outcomes_.front());
      outcomes_.pop_front();
    }
  }

  std::vector<Outcome> Take() {
    MutexLock lock(&mu_);
    std::vector<Outcome> taken(std::make_move_iterator(outcomes_.begin()),
                               std::make_move_iterator(outcomes_.end()));
    outcomes_.clear();
    records_ = 0;
    return taken;
  }

 private:
  static constexpr size_t kMostRecords = 10'000;

  static size_t RecordsOf(const Outcome& one) { return one.done.size() + one.missed.size(); }

  Mutex mu_;
  std::deque<Outcome> outcomes_ ABSL_GUARDED_BY(mu_);
  size_t records_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

void SetRemarksWanted(bool wanted) { are_kept.store(wanted, std::memory_order_relaxed); }

bool AreRemarksWanted() {
  return are_kept.load(std::memory_order_relaxed) || IsLogged(LogLevel::kRewrites);
}

void KeepOutcome(Outcome outcome) {
  if (!are_kept.load(std::memory_order_relaxed)) return;
  if (outcome.done.empty() && outcome.missed.empty()) return;
  KeptOutcomes::Get().Add(std::move(outcome));
}

std::vector<Outcome> TakeOutcomes() { return KeptOutcomes::Get().Take(); }

Frames FramesOf(const Graph& graph) {
  Frames frames;
  std::vector<tensorflow::ControlFlowInfo> info;
  if (!tensorflow::BuildControlFlowInfo(&graph, &info).ok()) return frames;
  for (const Node* node : graph.op_nodes()) frames[node->name()] = info[node->id()].frame_name;
  return frames;
}

void SetLoops(const Graph& graph, Frames before, Outcome* outcome) {
  Frames frames = FramesOf(graph);
  frames.merge(before);
  for (Rewrite& rewrite : outcome->done) rewrite.loop = frames[rewrite.by];
  std::set<Remark> missed;
  for (Remark remark : outcome->missed) {
    remark.loop = frames[remark.node];
    missed.insert(std::move(remark));
  }
  outcome->missed = std::move(missed);
}

std::vector<std::string> SummaryPerLoop(const Outcome& outcome) {
  std::map<std::string, std::vector<std::pair<std::string, int>>> counts;  // by loop and rule
  for (const Rewrite& rewrite : outcome.done) {
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

std::vector<std::string> LinePerRewrite(const Outcome& outcome) {
  std::vector<std::string> lines;
  for (const Rewrite& rewrite : outcome.done) {
    lines.push_back(absl::StrCat(rewrite.rule, ": ", rewrite.replaced, " -> ", rewrite.by));
  }
  for (const Remark& remark : outcome.missed) {
    const std::string where = remark.loop.empty() ? "" : absl::StrCat(" in loop ", remark.loop);
    lines.push_back(absl::StrCat(remark.rule, " missed ", remark.node, where, ": ", remark.text));
  }
  return lines;
}

}  // namespace tensor_array_grad
