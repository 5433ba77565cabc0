#ifndef CC_COMPILE_INSERT_RUN_LOOP_H_
#define CC_COMPILE_INSERT_RUN_LOOP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"
#include "tensorflow/core/framework/function.h"

namespace tensor_array_grad {

// Returns the outermost loops of a graph that can run in one kernel. If a loop cannot, the loops
// inside it are examined, and `left` is called for it with an error "reason: detail". `root` is the
// root of a FrameTree, which owns the returned frames. `library` has the functions that the graph
// calls. `in_session` tells whether the graph is that of a Session, not of a function.
std::vector<const Frame*> FindLoops(
    const Frame& root, const tensorflow::FunctionLibraryDefinition* library, bool in_session,
    const std::function<void(const Frame&, const absl::Status&)>& left);

// Puts a RunLoop op in front of `loop`, on the loop's device. Its inputs are those of the Enters of
// variables, then those of the Enters of constants; its outputs become the inputs of the Enters of
// variables. It gets the control inputs of all Enters. Other edges of the loop stay as they are.
// `record` is the id of the loop's record (loop_record.h).
//
// In a Session, the op is RunLoopInSession, which is not stateful, because a Session keeps the
// kernel of a stateful op longer than the graph, and with the graph end the functions that the loop
// calls. TensorFlow may then optimise the op as one that only computes its outputs. None of this
// happens:
//
//   - It merges two nodes only if their attributes are equal. Those of two loops are not: `frame`
//     has the names of the loop's nodes.
//   - It removes nodes that nothing needs, but never an Enter, which needs the op's output.
//   - It evaluates a node whose inputs are constants, but never a Merge. So the first input comes
//     from a Merge:  x ──> Merge ──> RunLoopInSession
//
// Requires: FindLoops returned `loop` for `graph`. Returns FailedPrecondition, "reason: detail", if
// the loop is too large for the op's attribute; the graph is then unchanged, but for the marks of
// NoteKnownValues, which it loses. Other errors and exceptions may leave a part of the change: call
// it within ChangeOrRestore.
absl::Status InsertRunLoop(const Frame& loop, int64_t record, bool in_session, Graph* graph);

// Removes what InsertRunLoop has added to `graph`, so that its loops run as on stock. A graph from
// a file may have a RunLoopInSession whose first input is another node than the added Merge; that
// node stays. On error a part of the change remains, and the graph must not be run.
absl::Status RemoveRunLoops(Graph* graph);

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_INSERT_RUN_LOOP_H_
