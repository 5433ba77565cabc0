#include "cc/run/newest_executable.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/log.h"
#include "cc/compile/loop_pass.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

Counter prepared("loops.prepared");
Counter inlined_calls("loops.inlined_calls");

}  // namespace

NewestExecutable::NewestExecutable(tensorflow::OpKernelConstruction* ctx)
    : host_(ctx), def_(ctx->def()) {
  std::string frame;
  OP_REQUIRES_OK(ctx, GetNodeAttr(def_, "frame", &frame));
  absl::StatusOr<std::unique_ptr<Executable>> made = Prepare(frame, host_);
  if (made.ok()) {
    prepared.Add();
    executable_ = *std::move(made);
  } else {
    CountRejected(def_.name(), made.status());
  }
}

std::shared_ptr<const Executable> NewestExecutable::Get() {
  MutexLock lock(&mu_);
  if (executable_ != nullptr && executable_->IsOutdated(0)) Replace();
  return executable_;
}

// If no new executable can be made, the calls stay calls.
void NewestExecutable::Replace() {
  std::vector<InlinedCall> inlined = TakeNewlyInlined(*executable_);
  const auto count = static_cast<int64_t>(inlined.size() - executable_->inlined.size());
  std::string frame;
  if (inlined.empty() || !GetNodeAttr(def_, "frame", &frame).ok()) return;
  absl::StatusOr<std::unique_ptr<Executable>> made = Prepare(frame, host_, std::move(inlined));
  if (IsLogged(LogLevel::kLoops)) {
    LogLine(absl::StrCat("loop ", def_.name(), ": ", count, " called functions ",
                         made.ok() ? "inlined" : made.status().message()));
  }
  if (!made.ok()) return;
  inlined_calls.Add(count);
  (*made)->serves = 2 * executable_->serves;
  executable_ = *std::move(made);
}

}  // namespace tensor_array_grad
