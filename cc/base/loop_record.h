#ifndef CC_BASE_LOOP_RECORD_H_
#define CC_BASE_LOOP_RECORD_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cc/base/mutex.h"
#include "tensor_array_grad/records.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tensor_array_grad {

// An attribute of a LoopCond: what the rules of the graph pass did in the loop, and what they did
// not. Three strings each: the rule, the node, and why it was not applied (empty: it was).
inline constexpr char kRemarksOfLoop[] = "_tensor_array_grad_remarks";

// Where a loop spent its time: in one kernel, and in the executor. What the executor did is counted
// only while loops are watched, and so is what an inner loop of one kernel did.
struct LoopCounts {
  std::atomic<int64_t> runs{0}, iterations{0}, ns{0};
  std::atomic<int64_t> two_threads{0}, handed_back{0};  // of `runs`
  std::atomic<int64_t> passed_on{0};  // runs that were left to the executor as the faster one
  std::atomic<int64_t> passed_by{0};  // runs that were left to it for statistics of nodes
  std::atomic<double> gain{1};        // by how much the executor was estimated faster
  // A thread that reads executor_runs first, then `conditions`, finds one or more per run.
  std::atomic<int64_t> executor_runs{0}, conditions{0}, executor_ns{0};
};

// A while loop of this process. Thread-safe.
class LoopRecord {
 public:
  // `line`: where the loop is, for the log.
  explicit LoopRecord(introspection::Loop loop, std::string line = "")
      : line_(std::move(line)), loop_(std::move(loop)) {}

  // The loop, with the counts of now.
  introspection::Loop Describe() const;
  const std::string& line() const { return line_; }
  // Records that the executor runs the loop because of `why`, "reason: detail".
  void Leave(const std::string& why);
  // Sets Loop::heaviest and so on.
  void SetHeaviest(introspection::ProgramOp op, const std::string& type, double share);

  // The loop has run `iterations` in one kernel, in `ns` nanoseconds.
  void AddRun(int64_t iterations, int64_t ns);
  // The executor evaluates the condition of iteration `iteration` in step `step`. The time until
  // then counts, so that a run that fails, or does not end, has a time.
  void EvaluatesCondition(int64_t step, int64_t iteration);
  // The loop ended in the executor. What several runs of one step do at the same time counts once.
  void EndsInExecutor(int64_t step);

  LoopCounts counts;

 private:
  // The runs of the loop in the executor in a step.
  struct InExecutor {
    int64_t noted_ns;  // when one of them last evaluated its condition, or ended
    int open = 0;      // how many have not ended
  };

  // Adds the time since the runs were noted.
  void AddTime(InExecutor* runs);

  const std::string line_;
  mutable Mutex mu_;
  introspection::Loop loop_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, InExecutor> in_executor_ ABSL_GUARDED_BY(mu_);  // by step
};

// An id for the next loop.
int64_t NewLoopId();

// Records a loop that has an id, and asks the locator where it is. The process keeps the newest
// 10,000 records.
std::shared_ptr<LoopRecord> AddLoop(introspection::Loop loop);

// The record of the loop `id`; a new one, which is in no list, if there is none.
std::shared_ptr<LoopRecord> LoopOf(int64_t id);
// LoopOf for the id in the attribute `record` of an op RunLoop, NoteCondition or NoteExit.
std::shared_ptr<LoopRecord> RecordOf(const tensorflow::NodeDef& def);

// All records, the oldest first.
std::vector<std::shared_ptr<LoopRecord>> AllLoops();

// AddLoop calls `locator` without the lock of the records. An empty function switches it off.
void SetLocator(introspection::Locator locator);

// Whether loops are watched: graphs that are prepared get nodes that measure loops in the executor.
bool AreLoopsWatched();
void WatchLoops(bool watch);

}  // namespace tensor_array_grad

#endif  // CC_BASE_LOOP_RECORD_H_
