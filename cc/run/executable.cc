#include "cc/run/executable.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/base/switches.h"
#include "cc/compile/compiler.h"
#include "cc/compile/eligibility.h"
#include "cc/flow/frame.h"
#include "cc/flow/function_search.h"
#include "cc/flow/liveness.h"
#include "cc/flow/loop_facts.h"
#include "cc/flow/op_facts.h"
#include "cc/flow/sum_order.h"
#include "cc/run/frame_checks.h"
#include "tensorflow/core/common_runtime/function.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

// Makes the CPU kernel of `node` as the executor would. The creator makes the kernel of a function
// that XLA compiles.
absl::Status CreateKernel(const Node& node, const Host& host, std::unique_ptr<OpKernel>* kernel) {
  const auto* const creator = tensorflow::GetDefaultCustomKernelCreator();
  if (creator != nullptr && host.library != nullptr &&
      creator->CanCreateKernel(*host.library, node.properties())) {
    return creator->CreateKernel(host.library, node.properties(), kernel);
  }
  OpKernel* made = nullptr;
  TF_RETURN_IF_ERROR(tensorflow::CreateOpKernel(
      tensorflow::DeviceType(tensorflow::DEVICE_CPU), host.device,
      host.device->GetAllocator(tensorflow::AllocatorAttributes()), host.library, host.resources,
      node.properties(), host.graph_def_version, &made));
  kernel->reset(made);
  return absl::OkStatus();
}

// Whether `node`, a call, or a function that it calls, has a loop.
bool Repeats(const Node& node, const Host& host) {
  FunctionNames seen;
  const auto repeats = [](const NodeDef& inner) { return HasFact(inner.op(), kRepeats); };
  return FindReachable(node.def(), host.functions(), repeats, &seen) != nullptr;
}

// Returns an error if no kernel can be made, or if the kernel is asynchronous but does not run
// functions.
absl::Status MakeKernel(const Node& node, const Host& host, Executable* executable,
                        NodeKernel* made) {
  const absl::Status status = CreateKernel(node, host, &made->kernel);
  if (!status.ok()) {
    return Rejected("no kernel", absl::StrCat(node.name(), ": ", status.message()));
  }
  if (made->kernel->AsAsync() != nullptr) {
    made->takes_lock = HasFact(node, kTakesLock) && host.may_wait;
    if (HasFact(node, kCallsFunctions)) {
      made->call =
          std::make_unique<FunctionCall>(Repeats(node, host), executable->called.Add(node));
    } else if (!made->takes_lock) {
      return Rejected("asynchronous kernel", node);
    }
  }
  made->small = SmallOpFor(node, host.device->GetAllocator(tensorflow::AllocatorAttributes()));
  made->outputs_required = std::make_unique<bool[]>(std::max(1, node.num_outputs()));
  for (const Edge* edge : node.out_edges()) {
    if (!edge->IsControlEdge()) made->outputs_required[edge->src_output()] = true;
  }
  return absl::OkStatus();
}

// Fills Executable::kernels for the instructions of one frame.
absl::Status MakeKernels(const LoopCode& code, const Host& host, Executable* executable) {
  for (const auto* part : {&code.condition, &code.body}) {
    for (const Instruction& instruction : *part) {
      if (instruction.action != Instruction::kKernel) continue;
      const Node& node = *executable->program.nodes[instruction.node];
      TF_RETURN_IF_ERROR(
          MakeKernel(node, host, executable, &executable->kernels[instruction.node]));
      executable->most_inputs = std::max(executable->most_inputs, node.num_inputs());
      executable->most_outputs = std::max(executable->most_outputs, node.num_outputs());
    }
  }
  return absl::OkStatus();
}

// Sets Executable::trailing, unless the loop has a node that forbids it (trailing_code.h), may wait
// for locks, or may run only one iteration at a time.
void DivideLoop(Executable* executable) {
  static const bool left_out = IsLeftOut("second_thread");
  const Program& program = executable->program;
  if (left_out || executable->takes_locks || executable->parallel_iterations < 2) return;
  for (const Node* node : program.nodes) {
    if (DependsOnSharing(*node)) return;
  }
  const auto may_trail = [&](const Instruction& instruction) {
    return !program.nodes[instruction.node]->op_def().is_stateful();
  };
  const auto is_light = [&](const Instruction& instruction) {
    if (instruction.action != Instruction::kKernel) return instruction.action != Instruction::kLoop;
    const Node& node = *program.nodes[instruction.node];
    return executable->kernels[instruction.node].small != nullptr || node.num_outputs() == 0 ||
           node.type_string() == "ReadVariableOp";
  };
  executable->trailing = DivideTrailing(program.loops.front(), may_trail, is_light);
}

// Adds records of the loops in `loop`, whose own record is `outer`.
void RecordInnerLoops(const Frame& loop, int64_t outer, Executable* executable) {
  const Program& program = executable->program;
  for (const Frame* inner : loop.children) {
    introspection::Loop facts = FactsOf(*inner);
    facts.id = NewLoopId();
    facts.outer = outer;
    for (size_t i = 1; i < program.loops.size(); ++i) {
      if (program.nodes[program.loops[i].loop_cond] != inner->loop_conds.front()) continue;
      executable->records[i] = AddLoop(facts);
    }
    RecordInnerLoops(*inner, facts.id, executable);
  }
}

// Fills Executable::known_inputs. Inside of the loop, Compile finds the known values itself, and a
// frame from a file may have false ones.
void NoteKnownInputs(const Frame& loop, const std::vector<int>& indices, Executable* executable) {
  for (size_t i = 0; i < indices.size(); ++i) {
    int value = -1;
    if (!TryGetNodeAttr(loop.enters[i]->attrs(), kKnownValue, &value)) continue;
    executable->known_inputs.emplace_back(indices[i], value);
  }
  for (const Frame* inner : loop.children) ForgetKnownValues(*inner);
}

// Whether `def`, an op RunLoop, is made for a loop that takes locks.
bool MayTakeLocks(const NodeDef& def) {
  bool takes = false;
  return TryGetNodeAttr(def, "takes_locks", &takes) && takes;
}

}  // namespace

const tensorflow::FunctionLibraryDefinition* Host::functions() const {
  return library == nullptr ? nullptr : library->GetFunctionLibraryDefinition();
}

Host::Host(OpKernelConstruction* ctx)
    : device(ctx->device()),
      library(ctx->function_library()),
      resources(ctx->resource_manager()),
      graph_def_version(ctx->graph_def_version()),
      may_wait(MayTakeLocks(ctx->def())) {}

absl::StatusOr<std::unique_ptr<Executable>> Prepare(const std::string& frame,
                                                    const LoopInputs& inputs, const Host& host,
                                                    std::vector<InlinedCall> inlined,
                                                    int64_t record) {
  auto executable = std::make_unique<Executable>();
  TF_ASSIGN_OR_RETURN(executable->graph, GraphOf(frame));
  TF_RETURN_IF_ERROR(CheckArguments(*executable->graph, inputs));
  TF_RETURN_IF_ERROR(
      executable->called.Inline(host.functions(), std::move(inlined), executable->graph.get()));
  TF_ASSIGN_OR_RETURN(const FrameTree tree, FrameTree::Of(*executable->graph));
  if (tree.root().children.size() != 1) {
    return Rejected("unsupported frame", "not one outermost loop");
  }
  const Frame& loop = *tree.root().children.front();
  std::vector<int> indices;
  TF_RETURN_IF_ERROR(NumberEnters(loop, inputs, &indices));
  NoteKnownInputs(loop, indices, executable.get());
  TF_ASSIGN_OR_RETURN(executable->program, Compile(loop));
  executable->kernels.resize(executable->program.nodes.size());
  for (const LoopCode& code : executable->program.loops) {
    TF_RETURN_IF_ERROR(MakeKernels(code, host, executable.get()));
  }
  executable->register_of_arg.resize(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    executable->register_of_arg[indices[i]] = executable->program.arguments[i];
  }
  (void)TryGetNodeAttr(loop.enters.front()->attrs(), "parallel_iterations",
                       &executable->parallel_iterations);
  executable->is_seeded = HasSeededNode(loop);
  executable->takes_locks = TakesLocks(loop);
  DivideLoop(executable.get());
  if (AreLoopsWatched()) {
    executable->records.resize(executable->program.loops.size());
    RecordInnerLoops(loop, record, executable.get());
  }
  executable->pooled_device = NewPooledDevice(host.device);
  for (Node* node : executable->graph->op_nodes()) {
    if (node->IsConstant()) node->ClearAttr("value");  // its value is in a register
  }
  return executable;
}

}  // namespace tensor_array_grad
