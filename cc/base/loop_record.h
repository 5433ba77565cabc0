#ifndef CC_BASE_LOOP_RECORD_H_
#define CC_BASE_LOOP_RECORD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cc/base/mutex.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tensor_array_grad {

// The names of an op in the user's program, as they were before TensorFlow inlined the function
// that has the op.
struct ProgramOp {
  std::string function;  // empty: an op of the graph itself
  std::string node;
};

// An attribute of a LoopCond: what the rules of the graph pass did in the loop, and what they did
// not. Three strings each: the rule, the node, and why it was not applied (empty: it was).
inline constexpr char kRemarksOfLoop[] = "_tensor_array_grad_remarks";

// What is known of a while loop when its graph is prepared.
struct LoopFacts {
  struct Note {
    std::string rule, text;
    ProgramOp node;
  };

  int64_t id = 0;
  int64_t outer = 0;          // the id of the loop around it; 0: none
  std::string name;           // of the loop's frame
  ProgramOp body, condition;  // an op of each
  bool is_watched = false;    // whether what the executor does is counted
  std::string left;  // why the executor runs it, "reason: detail"; empty: runs in one kernel
  ProgramOp cause;   // the op that is the reason
  ProgramOp python;  // an op that calls Python in each iteration
  // The op that takes most of an iteration, its type and its share; known if the executor was
  // estimated to be faster.
  ProgramOp heaviest;
  std::string heaviest_type;
  double heaviest_share = 0;
  std::vector<Note> notes;  // kRemarksOfLoop
  std::string line;         // what the locator said, for the log ...
  std::string trace;        // ... and in full
};

// Where a loop spent its time: in one kernel, and in the executor. What the executor did is counted
// only while loops are watched, and so is what an inner loop of one kernel did.
struct LoopCounts {
  std::atomic<int64_t> runs{0}, iterations{0}, ns{0};
  std::atomic<int64_t> two_threads{0}, handed_back{0};  // of `runs`
  std::atomic<int64_t> passed_on{0};  // runs that were left to the executor as the faster one
  std::atomic<int64_t> passed_by{0};  // other runs that were left to it, for statistics of nodes
  std::atomic<double> gain{0};        // by how much the executor was estimated faster
  // A thread that reads executor_runs first, then `conditions`, finds one or more per run.
  std::atomic<int64_t> executor_runs{0}, conditions{0}, executor_ns{0};
};

// A while loop of this process. Thread-safe.
class LoopRecord {
 public:
  explicit LoopRecord(LoopFacts facts) : facts_(std::move(facts)) {}

  LoopFacts facts() const;
  // Records that the executor runs the loop because of `why`, "reason: detail".
  void Leave(const std::string& why);
  // Sets LoopFacts::heaviest and so on.
  void SetHeaviest(ProgramOp op, const std::string& type, double share);

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

  mutable Mutex mu_;
  LoopFacts facts_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, InExecutor> in_executor_ ABSL_GUARDED_BY(mu_);  // by step
};

// An id for the next LoopFacts.
int64_t NewLoopId();

// Records a loop that has an id, and asks the locator where it is. The process keeps the newest
// 10,000 records.
std::shared_ptr<LoopRecord> AddLoop(LoopFacts facts);

// The record of the loop `id`; a new one, which is in no list, if there is none.
std::shared_ptr<LoopRecord> LoopOf(int64_t id);
// LoopOf for the id in the attribute `record` of an op RunLoop, NoteCondition or NoteExit.
std::shared_ptr<LoopRecord> RecordOf(const tensorflow::NodeDef& def);

// All records, the oldest first.
std::vector<std::shared_ptr<LoopRecord>> AllLoops();

// Finds the user's line of a loop: returns it in short and in full. AddLoop calls it on any thread,
// without the lock of the records. An empty function switches it off.
using Locator = std::function<std::pair<std::string, std::string>(const LoopFacts&)>;
void SetLocator(Locator locator);

// Whether loops are watched: graphs that are prepared get nodes that measure loops in the executor.
bool AreLoopsWatched();
void WatchLoops(bool watch);

}  // namespace tensor_array_grad

#endif  // CC_BASE_LOOP_RECORD_H_
