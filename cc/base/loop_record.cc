#include "cc/base/loop_record.h"

#include <tuple>

#include "cc/base/steady_clock.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

using introspection::Locator;
using introspection::Loop;

constexpr size_t kMostRecords = 10'000;

std::atomic<bool> watched{false};

struct Records {
  Mutex mu;
  std::map<int64_t, std::shared_ptr<LoopRecord>> by_id ABSL_GUARDED_BY(mu);
  std::shared_ptr<const Locator> locator ABSL_GUARDED_BY(mu);
};

Records& All() {
  static auto* const records = new Records;  // never destroyed: kernels outlive static destruction
  return *records;
}

std::shared_ptr<const Locator> TheLocator() {
  MutexLock lock(&All().mu);
  return All().locator;
}

}  // namespace

Loop LoopRecord::Describe() const {
  Loop loop;
  {
    MutexLock lock(&mu_);
    loop = loop_;
  }
  loop.runs = counts.runs;
  loop.iterations = counts.iterations;
  loop.seconds = static_cast<double>(counts.ns) * 1e-9;
  loop.two_threads = counts.two_threads;
  loop.handed_back = counts.handed_back;
  loop.passed_on = counts.passed_on;
  loop.passed_by = counts.passed_by;
  loop.gain = counts.gain;
  loop.executor_runs = counts.executor_runs;
  loop.executor_iterations = counts.conditions - loop.executor_runs;
  loop.executor_seconds = static_cast<double>(counts.executor_ns) * 1e-9;
  return loop;
}

void LoopRecord::Leave(const std::string& why) {
  MutexLock lock(&mu_);
  loop_.left = why;
}

void LoopRecord::SetHeaviest(introspection::ProgramOp op, const std::string& type, double share) {
  MutexLock lock(&mu_);
  loop_.heaviest = std::move(op);
  loop_.heaviest_type = type;
  loop_.heaviest_share = share;
}

void LoopRecord::AddRun(int64_t iterations, int64_t ns) {
  counts.runs.fetch_add(1, std::memory_order_relaxed);
  counts.iterations.fetch_add(iterations, std::memory_order_relaxed);
  counts.ns.fetch_add(ns, std::memory_order_relaxed);
}

void LoopRecord::EvaluatesCondition(int64_t step, int64_t iteration) {
  counts.conditions.fetch_add(1, std::memory_order_relaxed);
  if (iteration == 0) counts.executor_runs.fetch_add(1, std::memory_order_release);
  MutexLock lock(&mu_);
  const auto [runs, is_first] = in_executor_.try_emplace(step, InExecutor{SteadyNanos()});
  if (!is_first) AddTime(&runs->second);
  if (iteration == 0) ++runs->second.open;
}

void LoopRecord::EndsInExecutor(int64_t step) {
  MutexLock lock(&mu_);
  const auto runs = in_executor_.find(step);
  if (runs == in_executor_.end()) return;
  AddTime(&runs->second);
  if (--runs->second.open <= 0) in_executor_.erase(runs);
}

void LoopRecord::AddTime(InExecutor* runs) {
  const int64_t now = SteadyNanos();
  counts.executor_ns.fetch_add(now - runs->noted_ns, std::memory_order_relaxed);
  runs->noted_ns = now;
}

int64_t NewLoopId() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

std::shared_ptr<LoopRecord> AddLoop(Loop loop) {
  std::string line;
  if (const auto locator = TheLocator(); locator != nullptr) {
    std::tie(line, loop.trace) = (*locator)(loop);
  }
  const int64_t id = loop.id;
  auto record = std::make_shared<LoopRecord>(std::move(loop), std::move(line));
  MutexLock lock(&All().mu);
  auto& by_id = All().by_id;
  by_id[id] = record;
  if (by_id.size() > kMostRecords) by_id.erase(by_id.begin());
  return record;
}

std::shared_ptr<LoopRecord> LoopOf(int64_t id) {
  MutexLock lock(&All().mu);
  const auto found = All().by_id.find(id);
  return found == All().by_id.end() ? std::make_shared<LoopRecord>(Loop()) : found->second;
}

std::shared_ptr<LoopRecord> RecordOf(const tensorflow::NodeDef& def) {
  int64_t id = 0;
  (void)TryGetNodeAttr(def, "record", &id);
  return LoopOf(id);
}

std::vector<std::shared_ptr<LoopRecord>> AllLoops() {
  MutexLock lock(&All().mu);
  std::vector<std::shared_ptr<LoopRecord>> records;
  for (const auto& [id, record] : All().by_id) records.push_back(record);
  return records;
}

void SetLocator(Locator locator) {
  auto next = locator ? std::make_shared<const Locator>(std::move(locator)) : nullptr;
  MutexLock lock(&All().mu);
  All().locator.swap(next);
}

bool AreLoopsWatched() { return watched.load(std::memory_order_relaxed); }
void WatchLoops(bool watch) { watched.store(watch, std::memory_order_relaxed); }

}  // namespace tensor_array_grad
