#include "cc/compile/compiler.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "cc/compile/eligibility.h"
#include "cc/compile/locks.h"
#include "cc/compile/readers.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/liveness.h"
#include "cc/flow/loop_variable.h"
#include "cc/flow/node_util.h"
#include "cc/flow/op_facts.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/platform/statusor.h"

namespace tensor_array_grad {
namespace {

// A loop whose constants have more bytes than this in total is left to the executor: RunLoop holds
// two copies of them, in its attribute and in registers, in addition to the stock loop's.
constexpr int64_t kMostConstantBytes = 16 << 20;

// The state that all frames of one program share while it is compiled.
struct Shared {
  int NewRegister() { return program.registers++; }
  int NewRegister(std::pair<const Node*, int> value) { return registers[value] = NewRegister(); }
  int NewFlag() { return program.flags++; }
  int NodeIndex(const Node* node) {
    program.nodes.push_back(node);
    return static_cast<int>(program.nodes.size()) - 1;
  }
  absl::StatusOr<int> RegisterOf(Source source) const {
    const auto found = registers.find({source.node, source.slot});
    if (found == registers.end()) return Rejected("failure", *source.node);
    return found->second;
  }

  Program program;
  std::map<std::pair<const Node*, int>, int> registers;  // by node and output slot
  int64_t constant_bytes = 0;
};

// Compiles `frame` into a new one of `shared`'s loops, and returns its number. The frame that is
// compiled first is outermost.
absl::StatusOr<int> CompileFrame(const Frame& frame, Shared* shared);

// Compiles one frame into a LoopCode, as compiler.h explains.
class FrameCompiler {
 public:
  FrameCompiler(const Frame& frame, bool outermost, Shared* shared)
      : frame_(frame), outermost_(outermost), shared_(*shared) {}

  absl::Status Compile(LoopCode* code) {
    code_ = code;
    TF_RETURN_IF_ERROR(CheckShape());
    absl::StatusOr<std::vector<Item>> order = OrderOf(frame_);
    if (!order.ok()) return Rejected("unsupported frame", order.status().message());
    liveness_ = std::make_unique<const Liveness>(frame_, *order);
    const Source cond{loop_cond_, 0};
    taken_ = liveness_->Find(cond, 1);
    not_taken_ = liveness_->Find(cond, 0);
    if (taken_ < 0) return Rejected("unsupported frame", *loop_cond_);
    flags_.assign(liveness_->size(), -1);
    // The condition is compiled before the body because it runs first: if both need the same
    // kBranch, it must be in the condition.
    for (const bool in_condition : {true, false}) {
      current_ = in_condition ? &code_->condition : &code_->body;
      for (const Item& item : *order) {
        if (item.in_condition != in_condition) continue;
        TF_RETURN_IF_ERROR(item.loop != nullptr ? AddLoop(*item.loop) : AddNode(*item.node));
      }
    }
    return Finish();
  }

 private:
  using Waits = std::set<int>;  // instructions, as in Instruction::after

  // ---- the frame -------------------------------------------------------------------------------

  absl::Status CheckShape() {
    if (frame_.loop_conds.size() != 1) {
      return Rejected("unsupported frame", absl::StrCat(frame_.loop_conds.size(), " LoopConds"));
    }
    loop_cond_ = frame_.loop_conds.front();
    for (Node* enter : frame_.enters) TF_RETURN_IF_ERROR(AddEnter(*enter));
    if (code_->variables.empty()) return Rejected("unsupported frame", "no variable");
    return absl::OkStatus();
  }

  // Gives `enter` its register. The Enter of a variable may have at most one reader, its Merge. The
  // Enter of a constant may have any readers except a Merge.
  absl::Status AddEnter(Node& enter) {
    if (IsRefType(enter.input_type(0)) || IsRefType(enter.output_type(0))) {
      return Rejected("ref type", enter);
    }
    TF_ASSIGN_OR_RETURN(const int argument,
                        shared_.RegisterOf(outermost_ ? Source{&enter, 0} : InputOf(enter, 0)));
    if (IsConstantEnter(enter)) {
      shared_.registers[{&enter, 0}] = argument;
      for (const Edge* edge : enter.out_edges()) {
        if (edge->dst()->IsMerge()) return Rejected("unsupported frame", enter);
      }
      return absl::OkStatus();
    }
    Node* merge = nullptr;
    for (const Edge* edge : enter.out_edges()) {
      if (edge->dst()->IsSink()) continue;
      if (edge->IsControlEdge() || !edge->dst()->IsMerge() || merge != nullptr) {
        return Rejected("unsupported frame", enter);
      }
      merge = edge->dst();
    }
    if (merge == nullptr) {
      code_->variables.push_back(outermost_ ? argument : -1);  // never read
      return absl::OkStatus();
    }
    const auto inputs = LoopMergeOf(*merge);
    if (!inputs || IsRead(*merge, 1)) return Rejected("unsupported frame", *merge);
    const int reg = outermost_ ? argument : shared_.NewRegister();
    shared_.registers[{merge, 0}] = reg;
    code_->variables.push_back(reg);
    merges_.insert(merge);
    next_.push_back({InputOf(*inputs->next, 0), reg});
    return absl::OkStatus();
  }

  // ---- one item --------------------------------------------------------------------------------

  absl::Status AddNode(Node& node) {
    const Requirements& when = liveness_->OfNode(node);
    if (liveness_->AreNeverLive(when) && !node.IsNextIteration() && !node.IsExit()) {
      return absl::OkStatus();
    }
    TF_RETURN_IF_ERROR(CheckNode(node));
    if (!outermost_ && HasFact(node, kTakesLock)) return Rejected("a lock in an inner loop", node);
    const bool in_condition = current_ == &code_->condition;
    if (node.IsExit()) return AddExit(node);
    if (node.IsNextIteration()) {
      if (!Inside(when).empty()) return Rejected("a variable may be dead", node);
      return LeadsToMerges(node) ? absl::OkStatus() : Rejected("unsupported frame", node);
    }
    if (node.IsMerge() && merges_.count(&node) != 0) return absl::OkStatus();
    if (Has(when, not_taken_)) {
      return outermost_ ? absl::OkStatus() : Rejected("unsupported frame", node);
    }
    if (in_condition) {
      if (Has(when, taken_)) return Rejected("unsupported frame", node);
      if (outermost_) TF_RETURN_IF_ERROR(CheckCondition(node));
    } else if (!Has(when, taken_) && node.op_def().is_stateful() &&
               (!outermost_ || IsSeeded(node))) {
      // The executor runs the node once more, when LoopCond is false. The program does not. After
      // the outermost loop, the stock loop does, but with a kernel of its own.
      return Rejected("side effects outside of the body", node);
    }
    const size_t before = current_->size();
    TF_RETURN_IF_ERROR(Emit(node));
    NoteWaits(node, current_->size() == before);
    return absl::OkStatus();
  }

  // Records the instructions that `node` waits for. If it has an instruction of its own, only
  // control edges count, because its registers show what it reads. If it has none (`vanished`), all
  // edges count, and a node that waits for it waits for these instructions.
  void NoteWaits(const Node& node, bool vanished) {
    Waits waits;
    AddWaits(node, vanished, &waits);
    instructions_behind_[&node] = vanished ? waits : LastThatWaitsFor(waits);
  }

  // Adds the instructions behind the edges that lead to `node`, or behind its control edges only.
  void AddWaits(const Node& node, bool all, Waits* waits) const {
    for (const Edge* edge : node.in_edges()) {
      const auto known = instructions_behind_.find(edge->src());
      if (known == instructions_behind_.end() || !(all || edge->IsControlEdge())) continue;
      waits->insert(known->second.begin(), known->second.end());
    }
  }

  // Records that the last instruction waits for `waits`, and returns that instruction.
  Waits LastThatWaitsFor(const Waits& waits) const {
    current_->back().after.assign(waits.begin(), waits.end());
    const int index = static_cast<int>(current_->size()) - 1;
    return {current_ == &code_->condition ? ~index : index};
  }

  absl::Status Emit(Node& node) {
    const std::string& op = node.type_string();
    if (op == ops::kNoOp || node.IsControlTrigger()) return absl::OkStatus();
    if (op == ops::kIdentity || node.IsLoopCond()) return PassOn(node, 0, InputOf(node, 0));
    if (node.IsSwitch()) return AddSwitch(node);
    if (node.IsMerge()) return AddMerge(node);
    if (op == "Const") return AddConstant(node);
    return AddKernel(node);
  }

  absl::Status PassOn(const Node& node, int slot, Source input) {
    TF_ASSIGN_OR_RETURN(const int reg, shared_.RegisterOf(input));
    shared_.registers[{&node, slot}] = reg;
    return absl::OkStatus();
  }

  // A constant is in its register before the loop starts and needs no instruction. Its readers have
  // its requirements too, so they do not run if the constant is dead.
  absl::Status AddConstant(const Node& node) {
    const tensorflow::TensorProto* proto;
    ConstantRegister constant;
    TensorShape shape;  // looked at first: a proto of a few bytes may have a huge shape
    const bool is_valid = TryGetNodeAttr(node.attrs(), "value", &proto) &&
                          proto->dtype() == node.output_type(0) &&
                          TensorShape::BuildTensorShape(proto->tensor_shape(), &shape).ok();
    if (!is_valid) return Rejected("a constant cannot be read", node);
    if (shape.num_elements() > kMostConstantBytes) return Rejected("large constants", node);
    if (!constant.value.FromProto(*proto)) return Rejected("a constant cannot be read", node);
    shared_.constant_bytes += static_cast<int64_t>(constant.value.TotalBytes());
    if (shared_.constant_bytes > kMostConstantBytes) return Rejected("large constants", node);
    constant.reg = shared_.NewRegister({&node, 0});
    shared_.program.constants.push_back(std::move(constant));
    return absl::OkStatus();
  }

  // Gives all outputs the register of the input. Only the first Switch by a predicate gets a
  // kBranch, which sets the predicate's flags.
  absl::Status AddSwitch(const Node& node) {
    for (int side = 0; side < node.num_outputs(); ++side) {
      TF_RETURN_IF_ERROR(PassOn(node, side, InputOf(node, 0)));
    }
    const Source predicate = SkipIdentities(InputOf(node, 1));
    if (predicate.node == loop_cond_) return absl::OkStatus();
    const Requirements& when = liveness_->Of(predicate);
    Instruction branch;
    branch.action = Instruction::kBranch;
    for (int side = 0; side < node.num_outputs(); ++side) {
      const int id = liveness_->Find(predicate, side, node.num_outputs());
      if (id < 0) return absl::OkStatus();           // the predicate is known
      if (flags_[id] >= 0) return absl::OkStatus();  // an earlier Switch has the kBranch
      branch.sides.push_back(flags_[id] = shared_.NewFlag());
    }
    branch.node = shared_.NodeIndex(&node);
    TF_RETURN_IF_ERROR(AddRead(predicate, &branch.inputs));
    return Add(std::move(branch), when);
  }

  // Adds a kMerge. If the Merge has an unknown requirement, the instruction itself sets the flag of
  // that requirement, so it is guarded only by what the requirement implies.
  absl::Status AddMerge(const Node& node) {
    Instruction merge;
    merge.action = Instruction::kMerge;
    merge.node = shared_.NodeIndex(&node);
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Source input = InputOf(node, i);
      if (liveness_->AreNeverLive(liveness_->Of(input))) {
        if (IsRead(node, 1)) return Rejected("unsupported frame", node);
        continue;
      }
      if (Has(liveness_->Of(input), not_taken_)) return Rejected("unsupported frame", node);
      alternatives_when_[merge.node].push_back(Inside(liveness_->Of(input)));
      TF_ASSIGN_OR_RETURN(Flags guards, FlagsOf(liveness_->Of(input), node));
      TF_ASSIGN_OR_RETURN(const int reg, shared_.RegisterOf(input));
      merge.alternatives.push_back({std::move(guards), {reg}});
    }
    merge.outputs = {Output(node, 0), Output(node, 1)};
    Requirements when = liveness_->OfNode(node);
    const int unknown = liveness_->FindUnknown(node);
    if (unknown >= 0) {
      merge.flag = flags_[unknown] = shared_.NewFlag();
      when = liveness_->requirement(unknown).implied;
    }
    return Add(std::move(merge), when);
  }

  absl::Status AddKernel(const Node& node) {
    Instruction kernel;
    kernel.node = shared_.NodeIndex(&node);
    for (const Source& input : InputsOf(node)) {
      TF_RETURN_IF_ERROR(AddRead(input, &kernel.inputs));
    }
    for (int i = 0; i < node.num_outputs(); ++i) kernel.outputs.push_back(Output(node, i));
    return Add(std::move(kernel), liveness_->OfNode(node));
  }

  template <typename Reads>
  absl::Status AddRead(Source source, Reads* reads) const {
    TF_ASSIGN_OR_RETURN(const int reg, shared_.RegisterOf(source));
    reads->push_back({reg});
    return absl::OkStatus();
  }

  // Whether only Merges get the value of a NextIteration. Another node would wait for the iteration
  // before its own, so that no node runs in iteration 0.
  static bool LeadsToMerges(const Node& next_iteration) {
    return absl::c_all_of(next_iteration.out_edges(), [](const Edge* edge) {
      return edge->dst()->IsSink() || edge->dst()->IsMerge();
    });
  }

  // A register for an output, or -1 if nothing reads it.
  int Output(const Node& node, int slot) {
    return IsRead(node, slot) ? shared_.NewRegister({&node, slot}) : -1;
  }

  // Adds a kLoop for `loop`. Its outputs are the registers of the loop's variables (see AddExit).
  absl::Status AddLoop(const Frame& loop) {
    if (!liveness_->EntersAsOne(loop)) {
      return Rejected("inputs may be dead apart", absl::StrCat("frame '", loop.name, "'"));
    }
    const Requirements when = liveness_->OfLoop(loop);
    if (liveness_->AreNeverLive(when)) return absl::OkStatus();
    liveness_->NoteKnownValues(loop);
    if (Has(when, not_taken_)) {
      if (outermost_) return absl::OkStatus();
      return Rejected("unsupported frame",
                      absl::StrCat("'", loop.name, "' is entered where '", frame_.name, "' ends"));
    }
    const bool in_condition = current_ == &code_->condition;
    if (in_condition && outermost_) {
      for (const Node* node : NodesIn(loop)) TF_RETURN_IF_ERROR(CheckCondition(*node));
    }
    if (!in_condition && !Has(when, taken_) && !outermost_) {
      return Rejected("unsupported frame",
                      absl::StrCat("'", loop.name, "' runs in iterations that are not taken"));
    }
    Instruction run;
    run.action = Instruction::kLoop;
    for (const Node* enter : loop.enters) {
      const Source value = InputOf(*enter, 0);
      TF_RETURN_IF_ERROR(IsConstantEnter(*enter) ? AddRead(value, &run.constants)
                                                 : AddRead(value, &run.inputs));
    }
    TF_ASSIGN_OR_RETURN(run.loop, CompileFrame(loop, &shared_));
    const LoopCode& code = shared_.program.loops[run.loop];
    run.node = code.loop_cond;
    run.outputs.assign(code.variables.begin(), code.variables.end());
    TF_RETURN_IF_ERROR(Add(std::move(run), when));
    Waits waits;
    for (const Node* enter : loop.enters) AddWaits(*enter, /*all=*/false, &waits);
    waits = LastThatWaitsFor(waits);
    for (const Node* node : loop.nodes) {
      if (node->IsExit()) instructions_behind_[node] = waits;
    }
    return absl::OkStatus();
  }

  // An Exit of an inner loop passes on its variable. The Exits of the outermost loop belong to the
  // stock loop, which runs the last iteration only: so they must be dead in all others.
  absl::Status AddExit(const Node& exit) {
    const Requirements& when = liveness_->OfNode(exit);
    if (outermost_) {
      const bool is_dead = liveness_->AreNeverLive(when) || Has(when, not_taken_);
      return is_dead ? absl::OkStatus() : Rejected("unsupported frame", exit);
    }
    const Source from = SkipIdentities(InputOf(exit, 0));
    const bool of_variable = from.node->IsSwitch() && from.slot == 0 &&
                             SkipIdentities(InputOf(*from.node, 1)).node == loop_cond_ &&
                             merges_.count(SkipIdentities(InputOf(*from.node, 0)).node) != 0;
    if (!of_variable || !Without(when, not_taken_).empty()) {
      return Rejected("unsupported frame", exit);
    }
    return PassOn(exit, 0, InputOf(exit, 0));
  }

  // ---- requirements ----------------------------------------------------------------------------

  // `when` without LoopCond=1, which is true whenever the body runs.
  Requirements Inside(const Requirements& when) const { return Without(when, taken_); }

  // The flags that must be set for an instruction of `node` with the requirements `when` to run.
  absl::StatusOr<Flags> FlagsOf(const Requirements& when, const Node& node) const {
    Flags flags;
    for (int id : liveness_->Minimal(Inside(when))) {
      if (flags_[id] < 0) return Rejected("failure", node);
      flags.push_back(flags_[id]);
    }
    return flags;
  }

  absl::Status Add(Instruction instruction, const Requirements& when) {
    TF_ASSIGN_OR_RETURN(instruction.guards,
                        FlagsOf(when, *shared_.program.nodes[instruction.node]));
    current_->push_back(std::move(instruction));
    (current_ == &code_->condition ? condition_when_ : body_when_).push_back(Inside(when));
    return absl::OkStatus();
  }

  // ---- the end ---------------------------------------------------------------------------------

  absl::Status Finish() {
    code_->nodes = static_cast<int>(frame_.nodes.size());
    code_->loop_cond = shared_.NodeIndex(loop_cond_);
    TF_ASSIGN_OR_RETURN(code_->predicate, shared_.RegisterOf({loop_cond_, 0}));
    FindAwaited();
    std::vector<std::pair<int, int>> copies;  // from, to
    for (const auto& [source, reg] : next_) {
      TF_ASSIGN_OR_RETURN(const int from, shared_.RegisterOf(source));
      copies.push_back({from, reg});
    }
    code_->next = InOrder(copies, [this] { return shared_.NewRegister(); });
    MarkLastReaders({*liveness_, condition_when_, body_when_, alternatives_when_}, code_);
    return outermost_ ? CheckLocks(*code_, shared_.program.nodes) : absl::OkStatus();
  }

  void FindAwaited() {
    for (const Node* node : frame_.nodes) {
      if (!IsWaitedFor(*node)) continue;
      for (int slot = 0; slot < node->num_outputs(); ++slot) {
        const auto reg = shared_.registers.find({node, slot});
        if (reg != shared_.registers.end()) code_->awaited.push_back(reg->second);
      }
    }
  }

  const Frame& frame_;
  const bool outermost_;
  Shared& shared_;
  LoopCode* code_ = nullptr;
  std::unique_ptr<const Liveness> liveness_;
  Node* loop_cond_ = nullptr;
  int taken_ = -1, not_taken_ = -1;  // the requirements LoopCond=1 and LoopCond=0
  std::vector<int> flags_;           // by requirement
  std::unordered_set<const Node*> merges_;
  std::vector<std::pair<Source, int>> next_;     // new value and register of each variable
  std::vector<Instruction>* current_ = nullptr;  // the part to which instructions are added
  std::unordered_map<const Node*, Waits> instructions_behind_;
  // As InstructionRequirements: by instruction, and of the alternatives of each kMerge.
  std::vector<Requirements> condition_when_, body_when_;
  std::map<int, std::vector<Requirements>> alternatives_when_;
};

absl::StatusOr<int> CompileFrame(const Frame& frame, Shared* shared) {
  const auto index = static_cast<int>(shared->program.loops.size());
  shared->program.loops.emplace_back();
  LoopCode code;  // not in place: inner frames add to shared->program.loops
  TF_RETURN_IF_ERROR(FrameCompiler(frame, /*outermost=*/index == 0, shared).Compile(&code));
  shared->program.loops[index] = std::move(code);
  return index;
}

}  // namespace

absl::StatusOr<Program> Compile(const Frame& frame) {
  Shared shared;
  for (const Node* enter : frame.enters) {
    shared.program.arguments.push_back(shared.NewRegister({enter, 0}));
  }
  TF_RETURN_IF_ERROR(CompileFrame(frame, &shared).status());
  return std::move(shared.program);
}

}  // namespace tensor_array_grad
