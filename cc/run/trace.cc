#include "cc/run/trace.h"

namespace tensor_array_grad {

// TensorBoard does not know a type with a namespace ("TensorArrayGrad>PopLoopStack") as an op.
std::string OpEvent(absl::string_view name, absl::string_view type) {
  return tsl::profiler::TraceMeOp(name, type.substr(type.rfind('>') + 1));
}

// TensorFlow names the LoopCond of the loop `while` "while/LoopCond" or "while/LoopCond/_7".
std::string LoopEvent(const NodeDef& loop_cond) {
  const absl::string_view name = loop_cond.name();
  return OpEvent(name.substr(0, name.rfind("/LoopCond")), "RunLoop");
}

std::string IterationEvent(int64_t number) {
  return tsl::profiler::TraceMeEncode("Iteration", {{"iteration", number}});
}

}  // namespace tensor_array_grad
