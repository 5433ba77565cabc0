#include "cc/compile/eligibility.h"

#include <algorithm>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "cc/base/tensor_data.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/function_search.h"
#include "cc/flow/loop_count.h"
#include "cc/flow/node_util.h"
#include "cc/flow/op_facts.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/util/overflow.h"

namespace tensor_array_grad {
namespace {

using tensorflow::FunctionLibraryDefinition;

constexpr char kCause[] = "tensor_array_grad.cause";  // the payload with the name of a node

// The error of Rejected, for which CauseOf returns `node`.
absl::Status RejectedFor(const Node& node, absl::string_view reason, absl::string_view detail) {
  absl::Status rejected = Rejected(reason, detail);
  rejected.SetPayload(kCause, absl::Cord(node.name()));
  return rejected;
}

// The form in which a detail names a node.
std::string NameAndOp(absl::string_view name, absl::string_view op) {
  return absl::StrCat(name, " (", op, ")");
}

// Whether an input or output of `node` is the ref tensor of a variable.
bool HasRefs(const Node& node) {
  return std::any_of(node.input_types().begin(), node.input_types().end(), tensorflow::IsRefType) ||
         std::any_of(node.output_types().begin(), node.output_types().end(), tensorflow::IsRefType);
}

// A seeded op that draws more numbers than this at once has work for several cores, which the
// executor uses. A loop with such an op cannot be handed back to it (HasSeededNode).
constexpr int64_t kMostSeededNumbers = 1 << 14;

// How many numbers `node`, a random op, draws at once. 0 or less if that is not known before it
// runs, or if its shape is invalid, which its kernel reports.
int64_t NumbersDrawn(const Node& node) {
  if (node.op_def().input_arg(0).name() != "shape") return 0;
  Tensor value;
  if (!ConstantOf(*Origin(InputOf(node, 0)).node, &value)) return 0;
  int64_t numbers = 1;
  for (int64_t i = 0; i < value.NumElements(); ++i) {
    numbers = tensorflow::MultiplyWithoutOverflow(numbers, IntAt(value, i));
  }
  return numbers;
}

// Whether the call `node` names an executor. The executor with one thread waits for each call that
// the function contains.
bool NamesExecutor(const NodeDef& node) {
  std::string executor;
  return TryGetNodeAttr(node, "executor_type", &executor) && !executor.empty();
}

// Whether an op may keep its state in its kernel, or wait for another op.
bool HasUnknownEffects(const tensorflow::OpDef& op) {
  return op.is_stateful() &&
         !HasFact(op.name(), kAnyKernelMayRun | kDrawsNumbers | kCallsFunctions | kTakesLock);
}

// Returns the first node of `loop`, or of a loop inside of it, for which `has` is true; null if
// there is none.
const Node* FindNode(const Frame& loop, absl::FunctionRef<bool(const Node&)> has) {
  for (const Node* node : NodesIn(loop)) {
    if (has(*node)) return node;
  }
  return nullptr;
}

}  // namespace

absl::Status Rejected(absl::string_view reason, absl::string_view detail) {
  return absl::FailedPreconditionError(absl::StrCat(reason, ": ", detail));
}

absl::Status Rejected(absl::string_view reason, const Node& node, const Node* other) {
  std::string detail = NameAndOp(node.name(), node.type_string());
  if (other != nullptr) {
    absl::StrAppend(&detail, " and ", NameAndOp(other->name(), other->type_string()));
  }
  return RejectedFor(node, reason, detail);
}

absl::string_view ReasonOf(absl::string_view message) {
  return message.substr(0, message.find(':'));
}

std::string CauseOf(const absl::Status& rejected) {
  return std::string(rejected.GetPayload(kCause).value_or(absl::Cord()));
}

absl::Status CheckNode(const Node& node) {
  const std::string& op = node.type_string();
  if (node.IsSend() || node.IsRecv()) return Rejected("another device takes part", node);
  if (HasRefs(node)) return Rejected("ref type", node);
  if (HasFact(op, kEndsLater) || IsFunctionCall(node)) return Rejected("asynchronous kernel", node);
  if (HasFact(op, kWritesInput)) return Rejected("writes its input", node);
  if (HasUnknownEffects(node.op_def())) {
    return Rejected("private state or unknown side effects", node);
  }
  if (IsSeeded(node) && NumbersDrawn(node) > kMostSeededNumbers) {
    return Rejected("draws many numbers", node);
  }
  return absl::OkStatus();
}

bool MayWait(const NodeDef& node) {
  if (HasFact(node.op(), kEndsLater | kCallsPython | kTakesLock) || NamesExecutor(node)) {
    return true;
  }
  const auto* const op = tensorflow::OpRegistry::Global()->LookUp(node.op());
  return op != nullptr && HasUnknownEffects(op->op_def);
}

bool TakesLocks(const Frame& loop) {
  return std::any_of(loop.nodes.begin(), loop.nodes.end(),
                     [](const Node* node) { return HasFact(*node, kTakesLock); });
}

// One search for all calls: a function that several nodes call is searched once.
absl::Status CheckCalls(const Frame& loop, const FunctionLibraryDefinition* library) {
  FunctionNames seen;
  const NodeDef* waiting = nullptr;
  const Node* const call = FindNode(loop, [&](const Node& node) {
    if (HasFact(node, kCallsFunctions)) {
      waiting = FindReachable(node.def(), library, MayWait, &seen);
    }
    return waiting != nullptr;
  });
  if (call == nullptr) return absl::OkStatus();
  return RejectedFor(*call, "a called function may wait", NameAndOp(call->name(), waiting->op()));
}

absl::Status CheckInSession(const Frame& loop, const FunctionLibraryDefinition* library) {
  FunctionNames seen;
  const auto is_seeded = [](const NodeDef& node) { return IsSeeded(node); };
  const Node* const seeded = FindNode(loop, [&](const Node& node) {
    return FindReachable(node.def(), library, is_seeded, &seen) != nullptr;
  });
  if (seeded == nullptr) return absl::OkStatus();
  return RejectedFor(*seeded, "private state", "a seeded random op in a Session");
}

bool HasSeededNode(const Frame& loop) {
  return FindNode(loop, [](const Node& node) { return IsSeeded(node); }) != nullptr;
}

absl::Status CheckCondition(const Node& node) {
  if (!node.op_def().is_stateful() || HasFact(node, kMayRunAgain)) return absl::OkStatus();
  return Rejected("condition with side effects", node);
}

}  // namespace tensor_array_grad
