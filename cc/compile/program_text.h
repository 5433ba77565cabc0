#ifndef CC_COMPILE_PROGRAM_TEXT_H_
#define CC_COMPILE_PROGRAM_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cc/compile/program.h"

// Programs as text, for the log and for tests that compare whole programs.
//
//     condition:
//       i_less 0 1 -> 3
//     body:
//       i_plus 0! 2 -> 4        (0! is the last read of register 0)
//     next:
//       0 = 4!
//     predicate 3
//
// "branch p by 5 -> f0 f1" sets flags. "[f0]" before an instruction, or before an alternative of a
// Merge, lists its guards. "release 3" lists the registers that an instruction empties afterwards.
// "_" is an output that nothing reads. "call" stands before an instruction that no small op can
// compute, so that it always calls its kernel, if that is known.
namespace tensor_array_grad {

class ProgramText {
 public:
  // `calls` says of which nodes, by index into Program::nodes, the kernel is always called.
  explicit ProgramText(const Program& program, std::vector<bool> calls = {})
      : program_(program), calls_(std::move(calls)) {
    calls_.resize(program.nodes.size());
  }

  // All loops, the outermost first, each after a line "loop 0 by while/LoopCond", then the
  // registers of the arguments, "arguments 0 1", and those of constants, "constant 2 = 1".
  std::string OfAll() const {
    std::string text;
    for (size_t loop = 0; loop < program_.loops.size(); ++loop) {
      const LoopCode& code = program_.loops[loop];
      absl::StrAppend(&text, "loop ", loop, " by ", program_.nodes[code.loop_cond]->name(), "\n",
                      OfLoop(static_cast<int>(loop)));
    }
    absl::StrAppend(&text, "arguments ", absl::StrJoin(program_.arguments, " "), "\n");
    for (const ConstantRegister& constant : program_.constants) {
      absl::StrAppend(&text, "constant ", constant.reg, " = ", constant.value.SummarizeValue(3),
                      "\n");
    }
    return text;
  }

  std::string OfLoop(int loop) const {
    const LoopCode& code = program_.loops[loop];
    std::string text = "condition:\n";
    for (const Instruction& instruction : code.condition) absl::StrAppend(&text, Of(instruction));
    absl::StrAppend(&text, "body:\n");
    for (const Instruction& instruction : code.body) absl::StrAppend(&text, Of(instruction));
    absl::StrAppend(&text, "next:\n");
    for (const Move& move : code.next) {
      absl::StrAppend(&text, "  ", move.to, " = ", Of(move.from), "\n");
    }
    return absl::StrCat(text, "predicate ", code.predicate, "\n");
  }

  std::string Of(const Instruction& instruction) const {
    std::string text = absl::StrCat("  ", OfFlags(instruction.guards));
    const std::string& name = program_.nodes[instruction.node]->name();
    switch (instruction.action) {
      case Instruction::kKernel:
        absl::StrAppend(&text, calls_[instruction.node] ? "call " : "", name);
        break;
      case Instruction::kBranch:
        absl::StrAppend(&text, "branch ", name, " by");
        break;
      case Instruction::kMerge:
        absl::StrAppend(&text, "merge ", name);
        break;
      case Instruction::kLoop:
        absl::StrAppend(&text, "loop ", instruction.loop, " of ", name);
        break;
    }
    for (const Read& read : instruction.inputs) absl::StrAppend(&text, " ", Of(read));
    if (!instruction.constants.empty()) absl::StrAppend(&text, " sharing");
    for (const Read& read : instruction.constants) absl::StrAppend(&text, " ", Of(read));
    const char* separator = " ";
    for (const Alternative& alternative : instruction.alternatives) {
      absl::StrAppend(&text, separator, OfFlags(alternative.guards), Of(alternative.from));
      separator = " | ";
    }
    if (!instruction.outputs.empty() || !instruction.sides.empty()) absl::StrAppend(&text, " ->");
    for (int reg : instruction.outputs) {
      absl::StrAppend(&text, " ", reg < 0 ? "_" : std::to_string(reg));
    }
    for (int flag : instruction.sides) absl::StrAppend(&text, " f", flag);
    if (instruction.flag >= 0) absl::StrAppend(&text, " f", instruction.flag);
    if (!instruction.releases.empty()) absl::StrAppend(&text, " release");
    for (int reg : instruction.releases) absl::StrAppend(&text, " ", reg);
    return absl::StrCat(text, "\n");
  }

 private:
  static std::string Of(const Read& read) { return absl::StrCat(read.reg, read.last ? "!" : ""); }

  static std::string OfFlags(const Flags& flags) {
    if (flags.empty()) return "";
    std::string text = "[";
    for (int flag : flags) absl::StrAppend(&text, text.size() == 1 ? "" : " ", "f", flag);
    return absl::StrCat(text, "] ");
  }

  const Program& program_;
  std::vector<bool> calls_;
};

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_PROGRAM_TEXT_H_
