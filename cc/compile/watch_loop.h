#ifndef CC_COMPILE_WATCH_LOOP_H_
#define CC_COMPILE_WATCH_LOOP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "cc/base/loop_record.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"

namespace tensor_array_grad {

// Where the program made the node `name` of `loop`, or of a loop in it or around it: from the names
// that TensorFlow keeps of inlined nodes or, for a node that an optimizer made, from its name.
// Empty for an empty name.
ProgramOp OriginOf(const std::string& name, const Frame& loop);

// Where the program made `node`, if TensorFlow keeps its names; otherwise the name that it has now.
ProgramOp OriginOf(const Node& node);

// What is known of `loop`, but for its id and where it runs.
LoopFacts FactsOf(const Frame& loop);

// The record that the attribute `record` of an op RunLoop, NoteCondition or NoteExit names; a new
// one if there is none.
std::shared_ptr<LoopRecord> RecordOf(const NodeDef& def);

// Adds to `loop` two nodes that note in the record `id` what the executor does: NoteCondition reads
// the LoopCond in each iteration, NoteExit waits for all Exits, if there are any. On error a part
// of the change remains: call it within ChangeOrRestore.
absl::Status WatchInExecutor(const Frame& loop, int64_t id, Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_WATCH_LOOP_H_
