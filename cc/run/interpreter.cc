#include "cc/run/interpreter.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "cc/run/trace.h"
#include "tensorflow/core/common_runtime/process_util.h"
#include "tensorflow/core/platform/cpu_info.h"

namespace tensor_array_grad {
namespace {

std::atomic<int64_t> hand_back_after{-1};        // SetHandBackAfter
std::atomic<int64_t> trailing_thread_after{-1};  // SetTrailingThreadAfter

// The most iterations that the trailing part may be behind the main part. The loop's
// `parallel_iterations` may allow fewer.
constexpr int kMostBehind = 8;

}  // namespace

int ExecutorThreads(int asked) {
  static const int of_environment = tensorflow::NumInterOpThreadsFromEnvironment();
  const int cores = tensorflow::port::MaxParallelism();
  if (asked <= 0) asked = of_environment;
  return asked > 0 ? std::min(asked, cores) : cores;
}

void SetHandBackAfter(int64_t iterations) { hand_back_after.store(iterations); }

void SetTrailingThreadAfter(int64_t iterations) { trailing_thread_after.store(iterations); }

Interpreter::Interpreter(const Executable& executable, OpKernelContext* ctx, int threads,
                         RunStart start)
    : executable_(executable),
      ctx_(ctx),
      machine_(executable, ctx),
      pace_(threads, start, executable.program.loops.front(), executable.trailing.get(),
            executable.parallel_iterations, executable.is_seeded, {}) {}

void Interpreter::TakeArgument(int index) {
  Value& value = machine_.at(executable_.register_of_arg[index]);
  Tensor* const tensor = ctx_->params()->inputs[index].tensor;
  // If the reference count is one, only the executor's input refers to the buffer. A constant has a
  // second reference.
  if (tensor->RefCountIsOne()) {
    value.Set(std::move(*tensor));
    *tensor = Tensor();
  } else {
    value.Set(*tensor);
  }
}

void Interpreter::Take(int index, Tensor value) {
  machine_.at(executable_.register_of_arg[index]).Set(std::move(value));
}

Tensor Interpreter::Result(int index) {
  return std::move(*machine_.at(executable_.register_of_arg[index]).LastTensor());
}

// Between two iterations the registers of the variables, and only these and the constants, hold
// values that are still needed. The loop can therefore be handed back at this point and no other.
absl::Status Interpreter::Run() {
  const LoopCode& code = executable_.program.loops.front();
  const TraceMe event([&] { return LoopEvent(executable_.program.nodes[code.loop_cond]->def()); },
                      kTraceLevel);
  for (bool taken = true; taken;) {
    bool stops = false;
    if (!is_waiting()) TF_RETURN_IF_ERROR(BeginIteration(&stops));
    if (stops) return absl::OkStatus();
    const absl::Status status = Iterate(&taken);
    if (!status.ok()) return FirstError(status);
    if (is_waiting()) return absl::OkStatus();
  }
  pace_.End(iterations_, static_cast<double>(machine_.nodes()));
  return UseTrailingThread(false);
}

absl::Status Interpreter::BeginIteration(bool* stops) {
  is_outdated_ = executable_.called.IsOutdated(iterations_);
  const Choice choice = is_outdated_ ? Choice::kOneThread : Choose();
  handed_back_ = choice == Choice::kExecutor;
  *stops = is_outdated_ || handed_back_;
  return UseTrailingThread(choice == Choice::kTwoThreads);
}

// The error of a trailing part that is behind belongs to an earlier iteration than `error`.
absl::Status Interpreter::FirstError(const absl::Status& error) {
  if (trailing_ == nullptr || absl::IsCancelled(error)) return error;
  TF_RETURN_IF_ERROR(trailing_->Wait());
  return error;
}

// A predicate that is not a scalar ends the loop like a false one: the stock loop evaluates the
// condition again and reports the error.
absl::Status Interpreter::Iterate(bool* taken) {
  const bool traced = IsTraced();
  std::optional<TraceMe> event;
  if (traced) event.emplace([&] { return IterationEvent(iterations_); }, kTraceLevel);
  const LoopCode& whole = executable_.program.loops.front();
  const LoopCode& code = trailing_ != nullptr ? executable_.trailing->main : whole;
  double* const ns = pace_.task_ns();
  if (!is_waiting()) {
    TF_RETURN_IF_ERROR(machine_.ExecuteCondition(code, ns, traced));
    if (!machine_.Predicate(code, taken).ok()) *taken = false;
    if (!*taken) return absl::OkStatus();
  }
  TF_RETURN_IF_ERROR(
      machine_.ExecuteBody(code, ns == nullptr ? ns : ns + code.condition.size(), traced));
  if (is_waiting()) return absl::OkStatus();
  if (trailing_ != nullptr) TF_RETURN_IF_ERROR(trailing_->Add(iterations_, &machine_));
  machine_.Do(code.next);
  ++iterations_;
  return absl::OkStatus();
}

Choice Interpreter::Choose() {
  const int64_t back = hand_back_after.load(std::memory_order_relaxed);
  const int64_t trail = trailing_thread_after.load(std::memory_order_relaxed);
  // What is measured says nothing about the next executable, which will have fewer calls.
  const bool stays = executable_.is_seeded || executable_.called.IsAnyKnown();
  if (back >= 0 && iterations_ >= back && !stays) return Choice::kExecutor;
  if (trail >= 0 && iterations_ >= trail && executable_.trailing != nullptr) {
    return Choice::kTwoThreads;
  }
  if (back >= 0 || trail >= 0) return Choice::kOneThread;
  const Choice choice = pace_.Look(iterations_, static_cast<double>(machine_.nodes()));
  return choice == Choice::kExecutor && stays ? Choice::kOneThread : choice;
}

absl::Status Interpreter::UseTrailingThread(bool use) {
  if (use == (trailing_ != nullptr)) return absl::OkStatus();
  if (!use) {
    TF_RETURN_IF_ERROR(trailing_->End(&machine_));
    trailing_ = nullptr;
    return absl::OkStatus();
  }
  const int most_behind = std::clamp(executable_.parallel_iterations - 1, 1, kMostBehind);
  trailing_ = std::make_unique<TrailingThread>(executable_, ctx_, most_behind);
  trailing_->Begin(&machine_);
  had_trailing_thread_ = true;
  return absl::OkStatus();
}

}  // namespace tensor_array_grad
