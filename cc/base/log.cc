#include "cc/base/log.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace tensor_array_grad {

LogLevel ParseLogLevel(const char* value) {
  const absl::string_view text = value == nullptr ? "" : value;
  if (text == "1") return LogLevel::kLoops;
  if (text == "2") return LogLevel::kRewrites;
  if (text == "3") return LogLevel::kPrograms;
  return LogLevel::kNone;
}

bool IsLogged(LogLevel level) {
  static const LogLevel wanted = ParseLogLevel(std::getenv("TENSOR_ARRAY_GRAD_LOG"));
  return level <= wanted;
}

void LogLine(absl::string_view line) {
  std::fprintf(stderr, "tensor_array_grad: %.*s\n", static_cast<int>(line.size()), line.data());
}

void IfMemoryAllows(absl::FunctionRef<void()> report) try {
  report();
} catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory to say more
}

}  // namespace tensor_array_grad
