#ifndef CC_BASE_LOG_H_
#define CC_BASE_LOG_H_

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace tensor_array_grad {

// The level that the environment variable TENSOR_ARRAY_GRAD_LOG requests. Each level includes those
// before it.
enum class LogLevel {
  kNone = 0,      // not set, or anything but the values below
  kLoops = 1,     // "1": one line per loop: what was rewritten, and where the loop runs
  kRewrites = 2,  // "2": one line per rewrite, and per rewrite that a rule missed, with the reason
  kPrograms = 3,  // "3": the program of each loop that runs in one kernel
};

// Whether the environment asked for `level` at the time of the first call.
bool IsLogged(LogLevel level);

// Writes "tensor_array_grad: `line`" to stderr.
void LogLine(absl::string_view line);

// Calls `report`, which says what was done. If it throws, for want of memory, less is said.
void IfMemoryAllows(absl::FunctionRef<void()> report);

// The level that `value`, which may be null, denotes.
LogLevel ParseLogLevel(const char* value);

}  // namespace tensor_array_grad

#endif  // CC_BASE_LOG_H_
