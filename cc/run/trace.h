#ifndef CC_RUN_TRACE_H_
#define CC_RUN_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "cc/flow/graph_names.h"
#include "tensorflow/core/profiler/lib/traceme.h"

// The events of a loop in one kernel in the trace of a profiler, nested in time:
//
//     while:RunLoop                     a run of a loop, also of an inner one
//       Iteration {iteration: 0}        the condition and, if it holds, the body
//         while/Less:Less               a kernel or a small op
//         while/MatMul:MatMul
//
// A trailing part (trailing_thread.h) has an Iteration of its own, on the thread that runs it. The
// nodes of a called function have the events that TensorFlow records. An op whose guards do not
// hold has none.
//
// TraceMe records an event from its constructor to its destructor. A profiler may start or stop
// between them, and then lacks the event. Without a profiler, a TraceMe costs one read of an atomic
// variable.
namespace tensor_array_grad {

using tsl::profiler::TraceMe;

// The level of every event here, which a profiler records by default. The executor uses it for the
// kernels that it would run on another thread, which exclude the cheap ones. In a loop in one
// kernel that makes no difference, and the cheap ops take most of the time.
inline constexpr int kTraceLevel = tsl::profiler::TraceMeLevel::kInfo;

// Whether a profiler records the events of this level now.
inline bool IsTraced() { return TraceMe::Active(kTraceLevel); }

// Whether it also records the shapes of the inputs of an op.
inline bool IsTracedWithShapes() { return TraceMe::Active(tsl::profiler::TraceMeLevel::kVerbose); }

// The name of the event of an op, in the form of the executor's, "name:Type". By this form, the
// tables of TensorBoard know an op from other events.
std::string OpEvent(absl::string_view name, absl::string_view type);

// The name of the event of a run of the loop with this LoopCond. Its type is RunLoop.
std::string LoopEvent(const NodeDef& loop_cond);

// The name of the event of an iteration.
std::string IterationEvent(int64_t number);

}  // namespace tensor_array_grad

#endif  // CC_RUN_TRACE_H_
