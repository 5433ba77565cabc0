#ifndef CC_COMPILE_ELIGIBILITY_H_
#define CC_COMPILE_ELIGIBILITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"
#include "tensorflow/core/framework/function.h"

namespace tensor_array_grad {

// Returns a FailedPrecondition error "reason: detail", for a loop that is left to TensorFlow's
// executor. The second form names `node` as the detail, and `other` if it is given; CauseOf returns
// the name of `node`.
absl::Status Rejected(absl::string_view reason, absl::string_view detail);
absl::Status Rejected(absl::string_view reason, const Node& node, const Node* other = nullptr);

// Returns the reason in the message of such an error: the text before the colon.
absl::string_view ReasonOf(absl::string_view message);

// Returns the name of the node that was named as the detail; empty if there is none.
std::string CauseOf(const absl::Status& rejected);

// Returns OK if a loop that runs in one kernel can call a kernel of `node`. This requires that the
// node works on values of this device only, finishes before Compute returns or calls functions, and
// does not wait for other ops, except for a lock (CheckLocks). It must keep no state in its kernel,
// because the same node in the stock loop has another kernel object, which would not see that
// state. The exception is the generator of a random op; see HasSeededNode. A seeded op may draw at
// most 16,384 numbers at once, because it cannot be left to the executor when that turns out to be
// faster.
absl::Status CheckNode(const Node& node);

// Whether `node`, which may be a node of a called function, may wait for an op to which no edge
// leads, as Python functions may, or may block the thread that runs the function's other nodes. Not
// for the ops _Arg and _Retval.
bool MayWait(const NodeDef& node);

// Whether `loop` itself, without the loops inside of it, takes locks (kTakesLock).
bool TakesLocks(const Frame& loop);

// Returns OK if no node of `loop`, or of a loop inside of it, calls a function of `library` that
// may wait for an op outside of it or calls Python, or that has an executor of its own. While a
// function runs, its call occupies a thread, or two if it has help.
absl::Status CheckCalls(const Frame& loop, const tensorflow::FunctionLibraryDefinition* library);

// Returns OK if `loop` may run in one kernel in the graph of a Session: if it has no seeded node
// (see below), nor calls a function of `library` that has one. If the loop calls such a function
// twice, no edge puts the draws in order, as tf.function would, and RunLoop could draw in another
// order than the executor.
absl::Status CheckInSession(const Frame& loop,
                            const tensorflow::FunctionLibraryDefinition* library);

// Whether a node of `loop`, or of a loop inside of it, draws numbers whose order its seeds fix. So
// that the numbers are stock's, RunLoop must then run all iterations of all calls: it neither hands
// the loop back nor passes it by, once its kernels exist. The kernels of RunLoop live as long as
// those of stock's loop would, except in a Session, which keeps one stateful kernel for all graphs
// that it prunes for different fetches.
bool HasSeededNode(const Frame& loop);

// Returns OK if the user's program cannot observe that `node`, which is in a loop's condition, runs
// once more than the loop asks for. This happens because the stock loop evaluates the condition
// again after RunLoop.
absl::Status CheckCondition(const Node& node);

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_ELIGIBILITY_H_
