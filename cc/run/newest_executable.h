#ifndef CC_RUN_NEWEST_EXECUTABLE_H_
#define CC_RUN_NEWEST_EXECUTABLE_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cc/base/loop_record.h"
#include "cc/base/mutex.h"
#include "cc/device/kernel_names.h"
#include "cc/flow/graph_names.h"
#include "cc/run/executable.h"
#include "cc/schedule/pace.h"

namespace tensor_array_grad {

// The executable of an op RunLoop. It is replaced when it is outdated (called_functions.h). Runs
// that have begun with an old one may go on with it.
//
// Thread-safe.
class NewestExecutable {
 public:
  // Prepares the loop in the attribute `frame` of the op, which must outlive this object. Counts
  // and logs a loop that cannot be prepared. If the attribute contradicts the op (Prepare), the
  // construction of the kernel fails.
  explicit NewestExecutable(OpKernelConstruction* ctx);

  // What is known of the loop.
  LoopRecord& record() { return *record_; }

  // The executable for the next iterations. Null if the loop could not be prepared.
  std::shared_ptr<const Executable> Get();

  // Records why the executor was chosen for the rest of a run of `loop`, which `pace` measured, or
  // for later runs.
  void NoteExecutor(const Executable& loop, const Pace& pace);

 private:
  absl::StatusOr<std::unique_ptr<Executable>> PrepareWith(std::vector<InlinedCall> inlined) const;

  const Host host_;
  const NodeDef& def_;
  const LoopInputs inputs_;
  const std::shared_ptr<LoopRecord> record_;
  Mutex mu_;
  std::shared_ptr<const Executable> executable_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensor_array_grad

#endif  // CC_RUN_NEWEST_EXECUTABLE_H_
