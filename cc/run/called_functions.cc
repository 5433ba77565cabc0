#include "cc/run/called_functions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/log.h"
#include "cc/run/executable.h"

namespace tensor_array_grad {
namespace {

Counter inlined_calls("loops.inlined_calls");

}  // namespace

absl::Status CalledFunctions::Inline(const tensorflow::FunctionLibraryDefinition* library,
                                     std::vector<InlinedCall> calls, Graph* graph) {
  library_ = library;
  inlined_ = std::move(calls);
  return InlineCalls(library_, &inlined_, graph);
}

CalledFunctions::Function* CalledFunctions::Add(const Node& call) {
  const int64_t instance = InstanceOf(call);
  if (instance < 0) return nullptr;
  Function& function = functions_.try_emplace(instance, this).first->second;
  function.nodes_.push_back(call.id());
  return &function;
}

// A call without a graph may end after the one that it ran beside, which has made the instance.
void CalledFunctions::Function::Call(absl::FunctionRef<void()> call) {
  if (state() != kWaiting) return call();
  std::shared_ptr<const Graph> body = CaptureGraph(all_.library_, call);
  MutexLock lock(&all_.mu_);
  if (body != nullptr) {
    state_ = kKnown;
    all_.known_.emplace_back(this, std::move(body));
    all_.is_any_known_ = true;
  } else if (state() == kWaiting) {
    state_ = kKept;
  }
}

std::vector<InlinedCall> CalledFunctions::InlinedWith(const std::vector<Known>& functions) const {
  std::vector<InlinedCall> calls = inlined_;
  for (const auto& [function, body] : functions) {
    for (int node : function->nodes_) calls.push_back({{}, node, body});
  }
  return calls;
}

std::unique_ptr<Executable> CalledFunctions::Replacement(const std::string& name, Make make) {
  std::vector<Known> known;
  {
    MutexLock lock(&mu_);
    known.swap(known_);
    is_any_known_ = false;
  }
  if (known.empty()) return nullptr;
  for (const auto& [function, body] : known) function->state_ = kKept;
  absl::StatusOr<std::unique_ptr<Executable>> made = make(InlinedWith(known));
  const absl::Status with_all = made.status();
  std::vector<Known> fitting = known;
  if (!with_all.ok()) fitting.clear();
  for (auto next = known.begin(); next != known.end(); ++next) {
    if (fitting.size() + 1 >= known.size()) break;  // it fails with all
    fitting.push_back(*next);
    absl::StatusOr<std::unique_ptr<Executable>> more = make(InlinedWith(fitting));
    if (more.ok()) {
      made = std::move(more);
    } else {
      fitting.pop_back();
    }
  }
  const size_t count = InlinedWith(fitting).size() - inlined_.size();
  if (IsLogged(LogLevel::kLoops)) {
    LogLine(absl::StrCat("loop ", name, ": ", count, " calls of functions inlined",
                         with_all.ok() ? "" : ". Not all: ", with_all.message()));
  }
  if (!made.ok()) return nullptr;
  inlined_calls.Add(static_cast<int64_t>(count));
  for (const auto& [function, body] : fitting) function->state_ = kInlined;
  (*made)->called.serves_ = 2 * serves_;
  return *std::move(made);
}

}  // namespace tensor_array_grad
