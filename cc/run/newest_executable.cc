#include "cc/run/newest_executable.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/log.h"
#include "cc/compile/loop_pass.h"
#include "cc/compile/program_text.h"
#include "cc/flow/loop_facts.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {
namespace {

Counter prepared("loops.prepared");

void LogProgram(const NodeDef& def, const Executable& executable) {
  if (!IsLogged(LogLevel::kPrograms)) return;
  std::vector<bool> calls;
  for (const NodeKernel& node : executable.kernels) calls.push_back(node.small == nullptr);
  LogLine(absl::StrCat("program of ", def.name(), "\n",
                       ProgramText(executable.program, std::move(calls)).OfAll()));
}

}  // namespace

NewestExecutable::NewestExecutable(OpKernelConstruction* ctx)
    : host_(ctx),
      def_(ctx->def()),
      inputs_{{ctx->input_types().begin(), ctx->input_types().end()}, ctx->num_outputs()},
      record_(RecordOf(def_)) {
  absl::StatusOr<std::unique_ptr<Executable>> made = PrepareWith({});
  OP_REQUIRES(ctx, !absl::IsInvalidArgument(made.status()), made.status());
  if (made.ok()) {
    prepared.Add();
    executable_ = *std::move(made);
    LogProgram(def_, *executable_);
  } else {
    record_->Leave(std::string(made.status().message()));
    Report(*record_);
  }
}

absl::StatusOr<std::unique_ptr<Executable>> NewestExecutable::PrepareWith(
    std::vector<InlinedCall> inlined) const {
  std::string frame;
  TF_RETURN_IF_ERROR(GetNodeAttr(def_, "frame", &frame));
  return Prepare(frame, inputs_, host_, std::move(inlined), record_->Describe().id);
}

std::shared_ptr<const Executable> NewestExecutable::Get() {
  MutexLock lock(&mu_);
  if (executable_ == nullptr || !executable_->called.IsOutdated(0)) return executable_;
  const auto make = [this](std::vector<InlinedCall> inlined) {
    return PrepareWith(std::move(inlined));
  };
  if (auto made = executable_->called.Replacement(def_.name(), make)) {
    executable_ = std::move(made);
    LogProgram(def_, *executable_);
  }
  return executable_;
}

void NewestExecutable::NoteExecutor(const Executable& loop, const Pace& pace) {
  record_->counts.gain.store(pace.gain(), std::memory_order_relaxed);
  const auto [share, node] = pace.Heaviest();
  const Node& heaviest = *loop.program.nodes[node];
  record_->SetHeaviest(OriginOf(heaviest), heaviest.type_string(), share);
}

}  // namespace tensor_array_grad
