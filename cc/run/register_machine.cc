#include "cc/run/register_machine.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cc/base/invalid.h"
#include "cc/base/steady_clock.h"
#include "cc/base/tensorflow_names.h"
#include "cc/run/trace.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tensor_array_grad {

using tensorflow::TensorValue;

namespace {

// Returns the executor's error if output `i` of a kernel has another dtype than its op says. The
// call of a function whose result is dead outputs an empty float tensor.
absl::Status CheckType(int i, const Tensor& output, const OpKernel& kernel) {
  const DataType declared = kernel.output_type(i);
  if (output.dtype() == declared) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("Output ", i, " of type ", DataTypeString(output.dtype()),
                                          " does not match declared output type ",
                                          DataTypeString(declared), " for node ",
                                          tensorflow::FormatNodeDefForError(kernel.def())));
}

}  // namespace

// The parameters of kernel calls are those of RunLoop's own call, so that kernels find the same
// resources and cancellation manager as in the executor. Only the device (pooled_device.h) and the
// parameters of a single kernel call, such as inputs and outputs, are replaced.
RegisterMachine::RegisterMachine(const Executable& executable, OpKernelContext* ctx)
    : executable_(executable),
      params_(*ctx->params()),
      registers_(executable.program.registers),
      flags_(executable.program.flags, 0) {
  params_.eigen_gpu_device = nullptr;  // owned by the op's own parameters
  if (executable.pooled_device != nullptr) params_.device = executable.pooled_device.get();
  params_.forward_from_array = nullptr;
  params_.is_input_dead = false;
  inputs_.resize(executable.most_inputs);
  attributes_.resize(std::max(executable.most_inputs, executable.most_outputs));
  params_.output_attr_array = attributes_.data();
  for (const ConstantRegister& constant : executable.program.constants) {
    registers_[constant.reg].Set(constant.value);
  }
}

absl::Status RegisterMachine::ExecuteCondition(const LoopCode& code, double* ns, bool traced) {
  auto* const cancellation = params_.cancellation_manager;
  if (cancellation != nullptr && cancellation->IsCancelled()) {
    return AtNode(absl::CancelledError("Loop execution was cancelled."), code.loop_cond);
  }
  return Execute(code.condition, ns, traced);
}

absl::Status RegisterMachine::ExecuteBody(const LoopCode& code, double* ns, bool traced) {
  size_t from = 0;
  if (is_waiting()) {
    const std::unique_ptr<LockWait> wait = std::move(wait_);
    const Instruction& ended = wait->instruction();
    TF_RETURN_IF_ERROR(TakeOutputs(ended, &wait->ctx()));
    for (int reg : ended.releases) registers_[reg].Release();
    from = &ended - code.body.data() + 1;
  } else {
    for (int reg : code.dropped) registers_[reg].Release();
  }
  const absl::Status status =
      Execute(Code(code.body).subspan(from), ns == nullptr ? ns : ns + from, traced);
  if (is_waiting()) return absl::OkStatus();
  nodes_ += code.nodes;
  return status;
}

void RegisterMachine::Do(const std::vector<Move>& moves) {
  for (const Move& move : moves) {
    registers_[move.to].Assign(&registers_[move.from.reg], move.from.last);
  }
}

absl::Status RegisterMachine::Execute(Code code, double* ns, bool traced) {
  if (ns != nullptr || traced) return ExecuteWatched(code, ns, traced);
  for (const Instruction& instruction : code) TF_RETURN_IF_ERROR(ExecuteOne(instruction));
  return absl::OkStatus();
}

// The time of an instruction does not include that of its event. A loop is thus measured, and then
// handed back or given a second thread, as without a profiler.
absl::Status RegisterMachine::ExecuteWatched(Code code, double* ns, bool traced) {
  for (const Instruction& instruction : code) {
    std::optional<TraceMe> event;
    const bool has_event =
        instruction.action == Instruction::kKernel || instruction.action == Instruction::kLoop;
    if (traced && has_event && Holds(instruction.guards)) {
      event.emplace([&] { return EventOf(instruction); }, kTraceLevel);
    }
    const int64_t start = ns == nullptr ? 0 : SteadyNanos();
    TF_RETURN_IF_ERROR(ExecuteOne(instruction));
    if (ns != nullptr) *ns++ += static_cast<double>(SteadyNanos() - start);
  }
  return absl::OkStatus();
}

std::string RegisterMachine::EventOf(const Instruction& instruction) {
  if (instruction.action == Instruction::kLoop) {
    const LoopCode& code = executable_.program.loops[instruction.loop];
    return LoopEvent(executable_.program.nodes[code.loop_cond]->def());
  }
  const OpKernel& kernel = *executable_.kernels[instruction.node].kernel;
  std::string event = OpEvent(kernel.name(), kernel.type_string());
  if (!IsTracedWithShapes() || instruction.inputs.empty()) return event;
  return tsl::profiler::TraceMeEncode(std::move(event), {{"shape", ShapesOf(instruction)}});
}

std::string RegisterMachine::ShapesOf(const Instruction& instruction) {
  std::vector<std::string> shapes;
  for (const Read& read : instruction.inputs) {
    Value& value = registers_[read.reg];
    const DataType dtype = value.dtype();
    const bool has_shape = dtype != DT_RESOURCE && dtype != DT_VARIANT;
    shapes.push_back(
        !has_shape
            ? ""
            : absl::StrCat(DataTypeString(dtype),
                           value.is_number() ? "[]" : value.tensor()->shape().DebugString()));
  }
  return absl::StrCat("(", absl::StrJoin(shapes, ";"), ")");
}

// A kBranch and a kMerge are called even if their guards do not hold, because they must clear the
// flags that the previous iteration has set. The releases of an instruction do not depend on its
// guards.
inline absl::Status RegisterMachine::ExecuteOne(const Instruction& instruction) {
  switch (instruction.action) {
    case Instruction::kKernel:
      if (Holds(instruction.guards)) TF_RETURN_IF_ERROR(ExecuteKernel(instruction));
      break;
    case Instruction::kBranch:
      TF_RETURN_IF_ERROR(Branch(instruction));
      break;
    case Instruction::kMerge:
      Merge(instruction);
      break;
    case Instruction::kLoop:
      if (Holds(instruction.guards)) TF_RETURN_IF_ERROR(RunInnerLoop(instruction));
      break;
  }
  for (int reg : instruction.releases) registers_[reg].Release();
  return absl::OkStatus();
}

bool RegisterMachine::Holds(const Flags& guards) const {
  for (int flag : guards) {
    if (!flags_[flag]) return false;
  }
  return true;
}

bool RegisterMachine::ExecuteSmall(const Instruction& instruction, const NodeKernel& node) {
  Operand operands[kMostSmallOperands];
  const size_t count = instruction.inputs.size();
  for (size_t i = 0; i < count; ++i) {
    const Read& read = instruction.inputs[i];
    operands[i] = {&registers_[read.reg], read.last};
  }
  Value* results[kMostSmallOperands];
  const size_t outputs = instruction.outputs.size();
  for (size_t i = 0; i < outputs; ++i) {
    const int reg = instruction.outputs[i];
    results[i] = reg >= 0 ? &registers_[reg] : nullptr;
  }
  return node.small({operands, count}, {results, outputs});
}

// A kernel may write into the buffer of an input if it finds a reference count of one. It finds one
// only for a last read (LastTensor); for any other read the register keeps a second reference
// (HeldTensor).
absl::Status RegisterMachine::ExecuteKernel(const Instruction& instruction) {
  const NodeKernel& node = executable_.kernels[instruction.node];
  if (node.small != nullptr && ExecuteSmall(instruction, node)) {
    for (const Read& read : instruction.inputs) {
      if (read.last) registers_[read.reg].ReleaseTensor();
    }
    return absl::OkStatus();
  }
  const size_t count = instruction.inputs.size();
  for (size_t i = 0; i < count; ++i) {
    const Read& read = instruction.inputs[i];
    Value& value = registers_[read.reg];
    inputs_[i] = TensorValue(read.last ? value.LastTensor() : value.HeldTensor());
  }
  params_.inputs = {inputs_.data(), count};
  params_.input_alloc_attrs = {attributes_.data(), count};
  params_.op_kernel = node.kernel.get();
  params_.outputs_required_array = node.outputs_required.get();
  if (node.takes_lock) return StartWait(instruction);
  OpKernelContext ctx(&params_, static_cast<int>(instruction.outputs.size()));
  if (node.call != nullptr) {
    node.call->Call(node.kernel->AsAsync(), &params_, &ctx);
  } else {
    node.kernel->Compute(&ctx);
  }
  return TakeOutputs(instruction, &ctx);
}

inline absl::Status RegisterMachine::TakeOutputs(const Instruction& instruction,
                                                 OpKernelContext* ctx) {
  const NodeKernel& node = executable_.kernels[instruction.node];
  if (!ctx->status().ok()) return AtNode(ctx->status(), instruction.node);
  for (const Read& read : instruction.inputs) {
    if (read.last) registers_[read.reg].ReleaseTensor();
  }
  for (int i = 0; i < ctx->num_outputs(); ++i) {
    const std::unique_ptr<Tensor> output(ctx->release_output(i).tensor);
    const int reg = instruction.outputs[i];
    if (output != nullptr) {
      TF_RETURN_IF_ERROR(CheckType(i, *output, *node.kernel));
      if (reg >= 0) registers_[reg].Set(std::move(*output));
    } else if (reg >= 0) {
      return AtNode(
          absl::InternalError(absl::StrCat("Missing ", i, "-th output from ", node.kernel->name())),
          instruction.node);
    }
  }
  return absl::OkStatus();
}

absl::Status RegisterMachine::StartWait(const Instruction& instruction) {
  static const auto* const waits = new absl::Status(absl::UnavailableError("waits for a lock"));
  wait_ = std::make_unique<LockWait>(instruction, &params_);
  wait_->Start(executable_.kernels[instruction.node].kernel->AsAsync());
  return *waits;
}

// As in the Switch and SwitchN kernels, an index beyond the last side selects the last side.
absl::Status RegisterMachine::Branch(const Instruction& instruction) {
  for (int flag : instruction.sides) flags_[flag] = 0;
  if (!Holds(instruction.guards)) return absl::OkStatus();
  const int sides = static_cast<int>(instruction.sides.size());
  Value& value = registers_[instruction.inputs[0].reg];
  int side = 0;
  if (bool taken; value.Get(&taken)) {
    side = taken ? 1 : 0;
  } else if (int32_t index; value.Get(&index)) {
    side = index < 0 || index >= sides ? sides - 1 : index;
  } else {
    return NoScalar(value, instruction.node);
  }
  flags_[instruction.sides[side]] = 1;
  return absl::OkStatus();
}

void RegisterMachine::Merge(const Instruction& instruction) {
  if (instruction.flag >= 0) flags_[instruction.flag] = 0;
  if (!Holds(instruction.guards)) return;
  int32_t index = 0;
  for (const Alternative& alternative : instruction.alternatives) {
    if (Holds(alternative.guards)) {
      if (instruction.outputs[0] >= 0) {
        registers_[instruction.outputs[0]].Assign(&registers_[alternative.from.reg],
                                                  alternative.from.last);
      }
      if (instruction.outputs[1] >= 0) registers_[instruction.outputs[1]].SetScalar(index);
      if (instruction.flag >= 0) flags_[instruction.flag] = 1;
      return;
    }
    ++index;
  }
}

// The variables of the inner loop have registers of their own, which also are the outputs of the
// instruction. Its constants stay in the registers of this frame while the loop runs, so a constant
// that is read for the last time is released after the loop.
absl::Status RegisterMachine::RunInnerLoop(const Instruction& instruction) {
  const LoopCode& code = executable_.program.loops[instruction.loop];
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    const Read& read = instruction.inputs[i];
    if (code.variables[i] < 0) continue;
    registers_[code.variables[i]].Assign(&registers_[read.reg], read.last);
  }
  LoopRecord* const record =
      executable_.records.empty() ? nullptr : executable_.records[instruction.loop].get();
  const int64_t start = record == nullptr ? 0 : SteadyNanos();
  int64_t iteration = 0;
  for (bool taken;;) {
    const bool traced = IsTraced();
    std::optional<TraceMe> event;
    if (traced) event.emplace([&] { return IterationEvent(iteration); }, kTraceLevel);
    TF_RETURN_IF_ERROR(ExecuteCondition(code, nullptr, traced));
    TF_RETURN_IF_ERROR(Predicate(code, &taken));
    if (!taken) break;
    TF_RETURN_IF_ERROR(ExecuteBody(code, nullptr, traced));
    Do(code.next);
    ++iteration;
  }
  if (record != nullptr) record->AddRun(iteration, SteadyNanos() - start);
  for (const Read& read : instruction.constants) {
    if (read.last) registers_[read.reg].Release();
  }
  return absl::OkStatus();
}

absl::Status RegisterMachine::Predicate(const LoopCode& code, bool* taken) {
  Value& value = registers_[code.predicate];
  if (value.Get(taken)) return absl::OkStatus();
  return NoScalar(value, code.loop_cond);
}

absl::Status RegisterMachine::NoScalar(Value& predicate, int node) {
  return AtNode(Invalid("The second input must be a scalar, but it has shape ",
                        predicate.tensor()->shape().DebugString()),
                node);
}

absl::Status RegisterMachine::AtNode(const absl::Status& error, int node) const {
  return ErrorAt(error, executable_.program.nodes[node]->def(), executable_.called.inlined());
}

}  // namespace tensor_array_grad
