#include "cc/run/newest_executable.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/log.h"
#include "cc/compile/loop_pass.h"
#include "cc/compile/program_text.h"
#include "cc/compile/watch_loop.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

Counter prepared("loops.prepared");
Counter inlined_calls("loops.inlined_calls");

void LogProgram(const NodeDef& def, const Executable& executable) {
  if (!IsLogged(LogLevel::kPrograms)) return;
  LogLine(absl::StrCat("program of ", def.name(), "\n", ProgramText(executable.program).OfAll()));
}

}  // namespace

NewestExecutable::NewestExecutable(OpKernelConstruction* ctx)
    : host_(ctx),
      def_(ctx->def()),
      inputs_{{ctx->input_types().begin(), ctx->input_types().end()}, ctx->num_outputs()},
      record_(RecordOf(def_)) {
  std::string frame;
  OP_REQUIRES_OK(ctx, GetNodeAttr(def_, "frame", &frame));
  absl::StatusOr<std::unique_ptr<Executable>> made =
      Prepare(frame, inputs_, host_, {}, record_->facts().id);
  OP_REQUIRES(ctx, !absl::IsInvalidArgument(made.status()), made.status());
  if (made.ok()) {
    prepared.Add();
    executable_ = *std::move(made);
    LogProgram(def_, *executable_);
  } else {
    record_->Leave(std::string(made.status().message()));
    Report(record_->facts());
  }
}

std::shared_ptr<const Executable> NewestExecutable::Get() {
  MutexLock lock(&mu_);
  if (executable_ != nullptr && executable_->IsOutdated(0)) Replace();
  return executable_;
}

// If no executable can be made with all functions, for example because one has a kernel that is
// asynchronous, the functions are tried one after the other. Those that fail stay calls.
void NewestExecutable::Replace() {
  std::vector<InlinedCall> calls = TakeNewlyInlined(*executable_);
  std::string frame;
  if (calls.empty() || !GetNodeAttr(def_, "frame", &frame).ok()) return;
  absl::StatusOr<std::unique_ptr<Executable>> made =
      Prepare(frame, inputs_, host_, calls, record_->facts().id);
  const absl::Status with_all = made.status();
  if (!with_all.ok()) made = PrepareOneByOne(frame, calls);
  const auto count = made.ok() ? (*made)->inlined.size() - executable_->inlined.size() : 0;
  if (IsLogged(LogLevel::kLoops)) {
    LogLine(absl::StrCat("loop ", def_.name(), ": ", count, " calls of functions inlined",
                         with_all.ok() ? "" : ". Not all: ", with_all.message()));
  }
  if (count == 0) return;
  inlined_calls.Add(static_cast<int64_t>(count));
  (*made)->serves = 2 * executable_->serves;
  executable_ = *std::move(made);
  LogProgram(def_, *executable_);
}

absl::StatusOr<std::unique_ptr<Executable>> NewestExecutable::PrepareOneByOne(
    const std::string& frame, const std::vector<InlinedCall>& calls) {
  absl::StatusOr<std::unique_ptr<Executable>> made = absl::NotFoundError("no function fits");
  const auto first = calls.begin() + static_cast<int64_t>(executable_->inlined.size());
  std::vector<InlinedCall> fitting(calls.begin(), first);
  std::set<const Graph*> tried;
  for (auto call = first; call != calls.end(); ++call) {
    if (!tried.insert(call->body.get()).second) continue;
    std::vector<InlinedCall> more = fitting;
    std::copy_if(first, calls.end(), std::back_inserter(more),
                 [&](const InlinedCall& other) { return other.body == call->body; });
    if (more.size() == calls.size()) break;  // all together, with which it failed
    absl::StatusOr<std::unique_ptr<Executable>> next =
        Prepare(frame, inputs_, host_, more, record_->facts().id);
    if (!next.ok()) continue;
    fitting = std::move(more);
    made = std::move(next);
  }
  return made;
}

}  // namespace tensor_array_grad
