#include "cc/run/executable.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/base/switches.h"
#include "cc/compile/compiler.h"
#include "cc/compile/eligibility.h"
#include "cc/compile/inline_call.h"
#include "cc/flow/frame.h"
#include "cc/flow/function_search.h"
#include "cc/flow/node_util.h"
#include "cc/flow/op_facts.h"
#include "cc/flow/sum_order.h"
#include "tensorflow/core/common_runtime/function.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/tensor_id.h"
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

// Where a call records the graph that may take its place. Null if none may.
CalledBody* BodyFor(const Node& call, Executable* executable) {
  const int64_t instance = InstanceOf(call);
  if (instance < 0) return nullptr;
  return &executable->bodies.try_emplace(instance, &executable->has_bodies).first->second;
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
      made->call = std::make_unique<FunctionCall>(Repeats(node, host), BodyFor(node, executable));
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
      const Node& node = *executable->program.nodes[instruction.node];
      NodeKernel& made = executable->kernels[instruction.node];
      if (instruction.action != Instruction::kKernel) {
        made.def = node.def();
        continue;
      }
      TF_RETURN_IF_ERROR(MakeKernel(node, host, executable, &made));
      executable->most_inputs = std::max(executable->most_inputs, node.num_inputs());
      executable->most_outputs = std::max(executable->most_outputs, node.num_outputs());
    }
  }
  executable->kernels[code.loop_cond].def = executable->program.nodes[code.loop_cond]->def();
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
  executable->trailing = DivideTrailing(program.loops.front(), [&](const Instruction& instruction) {
    return !program.nodes[instruction.node]->op_def().is_stateful();
  });
}

// The error of a frame that does not fit the op.
template <typename... Args>
absl::Status Contradiction(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat("The attribute frame of RunLoop ", args...));
}

// Returns an error unless `graph` has one _Arg for each input, of its dtype.
absl::Status CheckArguments(const Graph& graph, const LoopInputs& inputs) {
  const int count = static_cast<int>(inputs.types.size());
  std::vector<const Node*> found(count, nullptr);
  for (const Node* node : graph.op_nodes()) {
    if (!node->IsArg()) continue;
    int index = -1;
    TryGetNodeAttr(node->attrs(), "index", &index);
    if (index < 0 || index >= count) {
      return Contradiction("has an _Arg '", node->name(), "' of index ", index, ", but the op has ",
                           count, " inputs");
    }
    if (found[index] != nullptr) {
      return Contradiction("has two _Args of index ", index, ", '", found[index]->name(), "' and '",
                           node->name(), "'");
    }
    found[index] = node;
    if (node->output_type(0) == inputs.types[index]) continue;
    return Contradiction("has an _Arg '", node->name(), "' of ",
                         DataTypeString(node->output_type(0)), ", but input ", index,
                         " of the op is ", DataTypeString(inputs.types[index]));
  }
  const auto missing = std::find(found.begin(), found.end(), nullptr);
  if (missing == found.end()) return absl::OkStatus();
  return Contradiction("has no _Arg of index ", missing - found.begin(), ", but the op has ", count,
                       " inputs");
}

// Sets indices[i] to the number of the input that frame.enters[i] brings into the loop. Returns an
// error unless each input has one Enter. Requires: CheckArguments returned OK for the graph.
absl::Status NumberEnters(const Frame& frame, const LoopInputs& inputs, std::vector<int>* indices) {
  std::vector<const Node*> enter_of(inputs.types.size(), nullptr);
  for (const Node* enter : frame.enters) {
    const Node& argument = *InputOf(*enter, 0).node;
    int index = -1;
    if (!argument.IsArg() || !TryGetNodeAttr(argument.attrs(), "index", &index)) {
      return Contradiction("has an Enter '", enter->name(), "' that reads '", argument.name(),
                           "' (", argument.type_string(), "), and an _Arg is needed");
    }
    if (enter_of[index] != nullptr) {
      return Contradiction("has two Enters of input ", index, ", '", enter_of[index]->name(),
                           "' and '", enter->name(), "'");
    }
    enter_of[index] = enter;
    indices->push_back(index);
    if (IsConstantEnter(*enter) == (index >= inputs.variables)) continue;
    return Contradiction("has an Enter '", enter->name(), "' of a ",
                         IsConstantEnter(*enter) ? "constant" : "variable", ", which is input ",
                         index, ", but the first ", inputs.variables,
                         " inputs of the op are its variables");
  }
  const auto missing = std::find(enter_of.begin(), enter_of.end(), nullptr);
  if (missing == enter_of.end()) return absl::OkStatus();
  return Contradiction("has no Enter of input ", missing - enter_of.begin(), ", but the op has ",
                       inputs.types.size(), " inputs");
}

// Whether `op` is that of a Merge or NextIteration, or its form for ref tensors.
bool IsOneOf(const std::string& op, const char* name, const char* of_refs) {
  return op == name || op == of_refs;
}

// Returns an error for a GraphDef on which ConvertGraphDefToGraph would end the process: it expects
// that a Merge of a NextIteration has one other input.
absl::Status CheckMerges(const tensorflow::GraphDef& def) {
  std::unordered_set<absl::string_view> next_iterations;
  for (const NodeDef& node : def.node()) {
    if (IsOneOf(node.op(), "NextIteration", "RefNextIteration")) {
      next_iterations.insert(node.name());
    }
  }
  for (const NodeDef& node : def.node()) {
    if (!IsOneOf(node.op(), "Merge", "RefMerge")) continue;
    int next = 0, others = 0;
    for (const std::string& input : node.input()) {
      const tensorflow::TensorId source = tensorflow::ParseTensorName(input);
      if (source.index() < 0) continue;  // a control input
      ++(next_iterations.count(source.node()) != 0 ? next : others);
    }
    if (next == 0 || others < 2) continue;
    return Rejected("unsupported frame", absl::StrCat("Merge '", node.name(), "' has ", others,
                                                      " inputs beside a NextIteration"));
  }
  return absl::OkStatus();
}

// Returns an error for a node that says of itself that it has more inputs or outputs than a node
// can have, for which ConvertGraphDefToGraph would allocate memory.
absl::Status CheckNumbers(const tensorflow::GraphDef& def) {
  constexpr int64_t kMostOutputs = 1 << 16;
  for (const NodeDef& node : def.node()) {
    const auto* const op = tensorflow::OpRegistry::Global()->LookUp(node.op());
    if (op == nullptr) continue;
    const auto check = [&](const auto& args, int64_t most) {
      return std::all_of(args.begin(), args.end(), [&](const auto& arg) {
        const auto number = node.attr().find(arg.number_attr());
        return number == node.attr().end() || number->second.i() <= most;
      });
    };
    if (!check(op->op_def.input_arg(), node.input_size()) ||
        !check(op->op_def.output_arg(), kMostOutputs)) {
      return Rejected("unsupported frame", absl::StrCat("'", node.name(), "' has an attribute for ",
                                                        "more inputs or outputs than it has"));
    }
  }
  return absl::OkStatus();
}

// The graph of the attribute `frame`.
absl::StatusOr<std::unique_ptr<Graph>> GraphOf(const std::string& frame) {
  tensorflow::GraphDef def;
  if (!def.ParseFromString(frame)) {
    return Contradiction("is no GraphDef, but ", frame.size(), " other bytes");
  }
  TF_RETURN_IF_ERROR(CheckMerges(def));
  TF_RETURN_IF_ERROR(CheckNumbers(def));
  auto graph = std::make_unique<Graph>(tensorflow::OpRegistry::Global());
  tensorflow::GraphConstructorOptions options;
  options.allow_internal_ops = true;
  options.expect_device_spec = true;
  const absl::Status made =
      tensorflow::ConvertGraphDefToGraph(options, std::move(def), graph.get());
  if (!made.ok()) return Rejected("unsupported frame", made.message());
  for (const Node* node : graph->op_nodes()) {  // which TensorFlow does not check
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (InputOf(*node, i).node != nullptr) continue;
      return Rejected("unsupported frame", absl::StrCat("'", node->name(), "' has no input ", i));
    }
  }
  return graph;
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
      may_wait(TryGetNodeAttr(ctx->def(), "takes_locks", &may_wait) && may_wait) {}

absl::StatusOr<std::unique_ptr<Executable>> Prepare(const std::string& frame,
                                                    const LoopInputs& inputs, const Host& host,
                                                    std::vector<InlinedCall> inlined) {
  auto executable = std::make_unique<Executable>();
  executable->inlined = std::move(inlined);
  TF_ASSIGN_OR_RETURN(executable->graph, GraphOf(frame));
  TF_RETURN_IF_ERROR(CheckArguments(*executable->graph, inputs));
  TF_RETURN_IF_ERROR(InlineCalls(host.functions(), &executable->inlined, executable->graph.get()));
  TF_ASSIGN_OR_RETURN(const FrameTree tree, FrameTree::Of(*executable->graph));
  if (tree.root().children.size() != 1) {
    return Rejected("unsupported frame", "not one outermost loop");
  }
  const Frame& loop = *tree.root().children.front();
  std::vector<int> indices;
  TF_RETURN_IF_ERROR(NumberEnters(loop, inputs, &indices));
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
  executable->pooled_device = NewPooledDevice(host.device);
  for (Node* node : executable->graph->op_nodes()) {
    if (node->IsConstant()) node->ClearAttr("value");  // its value is in a register
  }
  return executable;
}

std::vector<InlinedCall> TakeNewlyInlined(const Executable& executable) {
  executable.has_bodies.store(false, std::memory_order_relaxed);
  std::unordered_map<const CalledBody*, std::shared_ptr<const Graph>> bodies;
  for (auto& [instance, body] : executable.bodies) {
    if (auto graph = body.Take()) bodies.emplace(&body, std::move(graph));
  }
  std::vector<InlinedCall> inlined;
  for (size_t i = 0; i < executable.kernels.size(); ++i) {
    const FunctionCall* const call = executable.kernels[i].call.get();
    const auto body = bodies.find(call == nullptr ? nullptr : call->body());
    if (body == bodies.end()) continue;
    inlined.push_back({{}, executable.program.nodes[i]->id(), body->second});
  }
  if (inlined.empty()) return inlined;
  inlined.insert(inlined.begin(), executable.inlined.begin(), executable.inlined.end());
  return inlined;
}

}  // namespace tensor_array_grad
