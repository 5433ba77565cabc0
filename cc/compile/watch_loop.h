#ifndef CC_COMPILE_WATCH_LOOP_H_
#define CC_COMPILE_WATCH_LOOP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"

namespace tensor_array_grad {

// Adds to `loop` two nodes that note in the record `id` what the executor does: NoteCondition reads
// the LoopCond in each iteration, NoteExit waits for all Exits, if there are any. On error a part
// of the change remains: call it within ChangeOrRestore.
absl::Status WatchInExecutor(const Frame& loop, int64_t id, Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_WATCH_LOOP_H_
