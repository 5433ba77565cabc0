// Compares two evaluations of random loops that contain conditionals and inner loops. One runs the
// program on registers that are empty after their last read. The other evaluates the graph node by
// node, with dead values.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/base/tensorflow_names.h"
#include "cc/compile/compiler.h"
#include "cc/compile/program.h"
#include "cc/compile/program_text.h"
#include "cc/flow/graph_names.h"
#include "cc/flow/liveness.h"
#include "cc/testing/frames_under_test.h"
#include "tensorflow/core/platform/hash.h"

namespace tensor_array_grad {
namespace {

// A value is represented by a hash of how it was computed. A dead or released value has none.
using Token = std::optional<uint64_t>;

uint64_t ComputedBy(const Node& node, const std::vector<Token>& inputs) {
  uint64_t token = tensorflow::Hash64(node.name());
  for (const Token& input : inputs) token = tensorflow::Hash64Combine(token, *input);
  return token;
}
uint64_t ConstantOf(const tensorflow::Tensor& value) {
  return tensorflow::Hash64Combine(7, value.scalar<int32_t>()());
}
bool IsTrue(uint64_t predicate) { return predicate & 1; }
bool Continues(uint64_t loop_cond) { return (loop_cond & 3) != 0; }  // in three of four cases

// ---- evaluation of the graph

// Evaluates frames node by node, dead values included, as TensorFlow's executor does.
class Evaluator {
 public:
  // Returns the outputs of the Exit nodes of `frame` for the inputs `entering` of its Enter nodes.
  std::map<const Node*, Token> Run(const Frame& frame, std::map<const Node*, Token> entering) {
    const std::vector<Item> order = OrderOf(frame).value();
    std::map<const Node*, Token> carried;  // by Merge of a loop variable
    for (const Node* enter : frame.enters) {
      for (const auto* edge : enter->out_edges()) {
        if (edge->dst()->IsMerge()) carried[edge->dst()] = entering[enter];
      }
    }
    while (true) {
      values_.clear();
      for (const Node* enter : frame.enters) values_[{enter, 0}] = entering[enter];
      for (const auto& [merge, value] : carried) values_[{merge, 0}] = value;
      bool continues = false;
      for (const Item& item : order) {
        if (item.loop != nullptr) {
          RunInner(*item.loop);
          continue;
        }
        if (carried.count(item.node) == 0) Evaluate(*item.node);
        if (item.node->IsLoopCond()) continues = Continues(*values_[{item.node, 0}]);
      }
      std::map<const Node*, Token> exits;
      for (const Node* node : frame.nodes) {
        if (node->IsExit()) exits[node] = values_[{node, 0}];
      }
      if (!continues) return exits;
      for (auto& [merge, value] : carried) {
        for (int i = 0; i < 2; ++i) {
          const Node* const next = InputOf(*merge, i).node;
          if (next->IsNextIteration()) value = values_[{next, 0}];
        }
      }
    }
  }

 private:
  Token ValueOf(Source source) { return values_[{source.node, source.slot}]; }

  void RunInner(const Frame& loop) {
    std::map<const Node*, Token> entering;
    bool dead = false;
    for (const Node* enter : loop.enters) {
      entering[enter] = ValueOf(InputOf(*enter, 0));
      dead = dead || !entering[enter].has_value();
    }
    std::map<const Node*, Token> exits;
    if (!dead) {
      Evaluator inner;
      exits = inner.Run(loop, entering);
    }
    for (const Node* node : loop.nodes) {
      if (node->IsExit()) values_[{node, 0}] = exits[node];
    }
  }

  void Evaluate(const Node& node) {
    std::vector<Token> inputs;
    for (int i = 0; i < node.num_inputs(); ++i) inputs.push_back(ValueOf(InputOf(node, i)));
    if (node.IsMerge()) {
      for (const Token& input : inputs) {
        if (values_[{&node, 0}] = input; input.has_value()) return;
      }
      return;
    }
    for (const auto* edge : node.in_edges()) {
      if (edge->IsControlEdge() && edge->src()->IsOp()) {
        const Node& other = *edge->src();
        if (other.num_outputs() == 1 && !values_[{&other, 0}].has_value()) return;
      }
    }
    for (const Token& input : inputs) {
      if (!input.has_value()) return;
    }
    if (node.IsSwitch()) {
      const bool of_loop = SkipIdentities(InputOf(node, 1)).node->IsLoopCond();
      const bool taken = of_loop ? Continues(*inputs[1]) : IsTrue(*inputs[1]);
      values_[{&node, taken ? 1 : 0}] = inputs[0];
      return;
    }
    const bool copies =
        node.IsIdentity() || node.IsLoopCond() || node.IsExit() || node.IsNextIteration();
    values_[{&node, 0}] = copies ? inputs[0] : Token(ComputedBy(node, inputs));
    if (node.IsConstant()) {
      tensorflow::Tensor value;
      EXPECT_TRUE(GetNodeAttr(node.attrs(), "value", &value).ok());
      values_[{&node, 0}] = ConstantOf(value);
    }
  }

  std::map<std::pair<const Node*, int>, Token> values_;
};

// ---- evaluation of the program

// Runs code on registers that every last read and every release empties.
class Machine {
 public:
  explicit Machine(const Program& program)
      : program_(program), registers_(program.registers), flags_(program.flags, false) {
    for (const ConstantRegister& constant : program.constants) {
      registers_[constant.reg] = ConstantOf(constant.value);
    }
  }

  void Put(int reg, uint64_t token) { registers_[reg] = token; }
  Token Get(int reg) const { return registers_[reg]; }

  void Run(const LoopCode& code) {
    while (true) {
      for (const Instruction& instruction : code.condition) Execute(instruction);
      if (!registers_[code.predicate].has_value()) {
        ADD_FAILURE() << "no predicate";
        return;
      }
      if (!Continues(*registers_[code.predicate])) return Forget(code.condition);
      for (const Instruction& instruction : code.body) Execute(instruction);
      for (const Move& move : code.next) registers_[move.to] = Take(move.from);
      ExpectReleased(code);
    }
  }

  int last_reads() const { return last_reads_; }
  int releases() const { return releases_; }

 private:
  Token Look(const Read& read) {
    EXPECT_TRUE(registers_[read.reg].has_value()) << "register " << read.reg << " is empty";
    return registers_[read.reg].has_value() ? registers_[read.reg] : Token(0);
  }

  Token Take(const Read& read) {
    const Token token = Look(read);
    if (read.last) Empty(read.reg);
    return token;
  }

  void Empty(int reg) {
    registers_[reg].reset();
    ++last_reads_;
  }

  bool Holds(const Flags& guards) const {
    return std::all_of(guards.begin(), guards.end(), [&](int flag) { return flags_[flag]; });
  }

  void Execute(const Instruction& instruction) {
    for (int flag : instruction.sides) flags_[flag] = false;
    if (instruction.flag >= 0) flags_[instruction.flag] = false;
    if (Holds(instruction.guards)) {
      const std::string text = ProgramText(program_).Of(instruction);
      SCOPED_TRACE(text);
      ExecuteLive(instruction);
    }
    for (int reg : instruction.releases) {
      releases_ += registers_[reg].has_value();
      registers_[reg].reset();
    }
  }

  void ExecuteLive(const Instruction& instruction) {
    std::vector<Token> inputs;
    for (const Read& read : instruction.inputs) inputs.push_back(Look(read));
    for (const Read& read : instruction.inputs) {
      if (read.last) Empty(read.reg);
    }
    switch (instruction.action) {
      case Instruction::kKernel: {
        const uint64_t result = ComputedBy(*program_.nodes[instruction.node], inputs);
        if (instruction.outputs[0] >= 0) registers_[instruction.outputs[0]] = result;
        break;
      }
      case Instruction::kBranch:
        flags_[instruction.sides[IsTrue(*inputs[0]) ? 1 : 0]] = true;
        break;
      case Instruction::kMerge:
        for (const Alternative& alternative : instruction.alternatives) {
          if (!Holds(alternative.guards)) continue;
          const Token token = Take(alternative.from);
          if (instruction.outputs[0] >= 0) registers_[instruction.outputs[0]] = token;
          if (instruction.flag >= 0) flags_[instruction.flag] = true;
          break;
        }
        break;
      case Instruction::kLoop: {
        const LoopCode& loop = program_.loops[instruction.loop];
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (loop.variables[i] >= 0) registers_[loop.variables[i]] = inputs[i];
        }
        for (const Read& read : instruction.constants) Look(read);
        Run(loop);
        for (const Read& read : instruction.constants) Take(read);
      }
    }
  }

  // Empties the values that the condition has computed for a body that does not run. The
  // interpreter holds them until the loop runs again, but nothing reads them.
  void Forget(const std::vector<Instruction>& condition) {
    for (const Instruction& instruction : condition) {
      for (int reg : instruction.outputs) {
        if (reg >= 0) registers_[reg].reset();
      }
    }
  }

  // Expects that at the end of an iteration only variables, constants and the predicate are held.
  void ExpectReleased(const LoopCode& code) {
    std::set<int> kept(code.variables.begin(), code.variables.end());
    kept.insert(code.predicate);
    for (const auto* part : {&code.condition, &code.body}) {
      for (const Instruction& instruction : *part) {
        for (int reg : instruction.outputs) {
          if (reg < 0 || kept.count(reg) != 0) continue;
          EXPECT_FALSE(registers_[reg].has_value())
              << "register " << reg << " is held by " << ProgramText(program_).Of(instruction);
        }
      }
    }
  }

  const Program& program_;
  std::vector<Token> registers_;
  std::vector<bool> flags_;
  int last_reads_ = 0, releases_ = 0;
};

// ---- random graphs

class RandomLoop : public FramesUnderTest {
 public:
  explicit RandomLoop(unsigned seed) : random_(seed) {
    std::vector<std::string> starts;
    for (int i = 0; i < 4; ++i) {
      starts.push_back(Fresh("start"));
      Placeholder(starts.back(), DT_INT32);
    }
    AddLoop("outer", starts, {starts[0], starts[1]}, 3);
  }

 private:
  // Names of values that are live under the same conditions.
  struct Scope {
    std::vector<std::string> numbers, predicates;
    std::string pivot;  // a node that is live when they are
    bool loops = true;  // whether there may be loops inside
  };

  int UpTo(int n) { return std::uniform_int_distribution<int>(0, n)(random_); }
  const std::string& OneOf(const std::vector<std::string>& names) {
    return names[UpTo(static_cast<int>(names.size()) - 1)];
  }
  std::string Fresh(const std::string& prefix) { return absl::StrCat(prefix, next_++); }

  // Adds a loop. Returns the names of its Exit nodes.
  std::vector<std::string> AddLoop(const std::string& frame, const std::vector<std::string>& starts,
                                   const std::vector<std::string>& shared, int depth) {
    Scope condition, body;
    std::vector<std::string> variables;
    for (size_t i = 0; i < starts.size(); ++i) {
      variables.push_back(absl::StrCat(frame, "_v", i));
      condition.numbers.push_back(variables.back() + "_merge");
      body.numbers.push_back(variables.back() + "_switch:1");
    }
    for (const std::string& source : shared) {
      condition.numbers.push_back(Fresh("shared"));
      AddConstantOf(frame, condition.numbers.back(), DT_INT32, source);
    }
    condition.pivot = variables[0] + "_merge";
    // LoopCond need not read what these statements compute. A loop that it does not read would also
    // run when LoopCond is false, and the compiler rejects that in an inner loop.
    condition.loops = frame == "outer";
    body.pivot = Fresh("pivot");
    AddUnary(body.pivot, "Identity", DT_INT32, {variables[0] + "_switch:1"});
    AddStatements(1 + UpTo(3), std::min(depth, 1), &condition);
    const std::string less = Fresh("less");
    AddBinary(less, "Less", DT_INT32, {variables[0] + "_merge", OneOf(condition.numbers)});
    Add(frame + "_cond", "LoopCond", {less});
    // Values of the condition that the body reads too.
    for (int i = 0; i < 3; ++i) {
      body.numbers.push_back(Fresh("seen"));
      AddUnary(body.numbers.back(), "Identity", DT_INT32,
               {OneOf(condition.numbers), "^" + body.pivot});
    }
    AddStatements(3 + UpTo(7), depth, &body);
    std::vector<std::string> exits;
    for (size_t i = 0; i < starts.size(); ++i) {
      // The first variable changes in each iteration, so that the loop ends.
      std::string update = OneOf(body.numbers);
      if (i == 0) {
        update = Fresh("step");
        AddBinary(update, "AddV2", DT_INT32, {body.numbers[0], OneOf(body.numbers)});
      }
      AddVariableOf(frame, variables[i], DT_INT32, starts[i], update);
      exits.push_back(variables[i] + "_exit");
    }
    return exits;
  }

  void AddStatements(int count, int depth, Scope* scope) {
    for (int i = 0; i < count; ++i) AddStatement(depth, scope);
  }

  void AddStatement(int depth, Scope* scope) {
    const std::string name = Fresh("n");
    switch (UpTo(depth > 0 ? 9 : 4)) {
      case 0:
        AddValue(name, tensorflow::Tensor(int32_t{next_}), {"^" + scope->pivot});
        break;
      case 1:
        AddUnary(name, "Neg", DT_INT32, {OneOf(scope->numbers)});
        break;
      case 2:
        AddUnary(name, "Identity", DT_INT32, {OneOf(scope->numbers)});
        break;
      case 3:
      case 4:
        AddBinary(name, "AddV2", DT_INT32, {OneOf(scope->numbers), OneOf(scope->numbers)});
        break;
      case 5:
      case 6:
      case 7:
        AddConditional(depth - 1, scope);
        return;
      case 8:
        if (!scope->loops) return AddConditional(depth - 1, scope);
        AddInnerLoop(depth - 1, scope);
        return;
      case 9:
        AddOddMerge(scope);
        return;
    }
    scope->numbers.push_back(name);
  }

  std::string Predicate(Scope* scope) {
    if (!scope->predicates.empty() && UpTo(2) == 0) return OneOf(scope->predicates);
    const std::string predicate = Fresh("p");
    AddBinary(predicate, "Less", DT_INT32, {OneOf(scope->numbers), OneOf(scope->numbers)});
    scope->predicates.push_back(predicate);
    return predicate;
  }

  void AddConditional(int depth, Scope* scope) {
    const std::string predicate = Predicate(scope);
    const std::string pivots = Fresh("pivots");
    AddUnary(pivots, "Switch", DT_BOOL, {predicate, predicate});
    std::vector<std::string> switched;
    for (int i = UpTo(2); i >= 0; --i) {
      switched.push_back(Fresh("s"));
      AddUnary(switched.back(), "Switch", DT_INT32, {OneOf(scope->numbers), predicate});
    }
    Scope sides[2];
    for (int side : {0, 1}) {
      for (const std::string& s : switched)
        sides[side].numbers.push_back(absl::StrCat(s, ":", side));
      sides[side].pivot = Fresh("pivot");
      sides[side].loops = scope->loops;
      AddUnary(sides[side].pivot, "Identity", DT_BOOL, {absl::StrCat(pivots, ":", side)});
      AddStatements(UpTo(3), depth, &sides[side]);
    }
    for (int i = UpTo(1); i >= 0; --i) {
      const std::string merged = Fresh("merged");
      AddMerge(merged, DT_INT32, {OneOf(sides[0].numbers), OneOf(sides[1].numbers)});
      scope->numbers.push_back(merged);
    }
  }

  // A Merge that may be dead, and a reader that is dead with it.
  void AddOddMerge(Scope* scope) {
    std::vector<std::string> inputs;
    for (int i : {0, 1}) {
      inputs.push_back(Fresh("s"));
      AddUnary(inputs.back(), "Switch", DT_INT32, {OneOf(scope->numbers), Predicate(scope)});
      absl::StrAppend(&inputs.back(), ":", i);
    }
    const std::string odd = Fresh("odd");
    AddMerge(odd, DT_INT32, inputs);
    AddBinary(Fresh("of_odd"), "AddV2", DT_INT32, {odd, OneOf(scope->numbers)});
  }

  void AddInnerLoop(int depth, Scope* scope) {
    std::vector<std::string> starts, shared;
    for (int i = UpTo(2); i >= 0; --i) starts.push_back(OneOf(scope->numbers));
    for (int i = UpTo(1); i > 0; --i) shared.push_back(OneOf(scope->numbers));
    for (const std::string& exit : AddLoop(Fresh("inner"), starts, shared, depth)) {
      if (UpTo(2) > 0) scope->numbers.push_back(exit);
    }
  }

  std::mt19937 random_;
  int next_ = 0;
};

TEST(ReadersRandomTest, CodeComputesTheGraphsValuesAndHoldsNoneTooLong) {
  int last_reads = 0, releases = 0, branches = 0, inner_loops = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomLoop loop(seed);
    const Frame& frame = loop.FrameNamed("outer");
    const absl::StatusOr<Program> program = Compile(frame);
    ASSERT_TRUE(program.ok()) << program.status();
    Machine machine(*program);
    std::map<const Node*, Token> entering;
    for (size_t i = 0; i < frame.enters.size(); ++i) {
      entering[frame.enters[i]] = tensorflow::Hash64(absl::StrCat("start ", seed, " ", i));
      machine.Put(program->arguments[i], *entering[frame.enters[i]]);
    }
    machine.Run(program->loops[0]);
    Evaluator evaluator;
    std::map<const Node*, Token> exits = evaluator.Run(frame, entering);
    for (size_t i = 0; i < frame.enters.size(); ++i) {
      for (const auto* edge : frame.enters[i]->out_edges()) {
        if (!edge->dst()->IsMerge()) continue;
        const std::string& merge = edge->dst()->name();
        const Node* const exit = loop.Find(absl::StrCat(merge.substr(0, merge.size() - 5), "exit"));
        EXPECT_EQ(machine.Get(program->arguments[i]), exits[exit]) << merge;
      }
    }
    last_reads += machine.last_reads();
    releases += machine.releases();
    branches += program->flags / 2;
    inner_loops += static_cast<int>(program->loops.size()) - 1;
    if (testing::Test::HasFailure()) {
      for (size_t i = 0; i < program->loops.size(); ++i) {
        ADD_FAILURE() << "loop " << i << "\n" << ProgramText(*program).OfLoop(static_cast<int>(i));
      }
      break;
    }
  }
  // The test has covered enough cases.
  EXPECT_GT(last_reads, 10000);
  EXPECT_GT(releases, 1000);
  EXPECT_GT(branches, 400);
  EXPECT_GT(inner_loops, 100);
}

}  // namespace
}  // namespace tensor_array_grad
