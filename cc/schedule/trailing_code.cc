#include "cc/schedule/trailing_code.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace tensor_array_grad {
namespace {

using Test = std::function<bool(const Instruction&)>;

constexpr int64_t kHeavyWork = 16;  // of an instruction, if that of a light one is 1

// The instructions of the body and the variables that some values depend on, within one iteration.
struct Needs {
  std::vector<bool> instructions;  // by instruction of the body
  std::set<int> variables;         // registers
};

class Divider {
 public:
  Divider(const LoopCode& code, const Test& may_trail, const Test& is_light)
      : code_(code), may_trail_(may_trail), is_light_(is_light) {
    for (size_t i = 0; i < code.body.size(); ++i) {
      for (int reg : code.body[i].outputs) writers_[reg] = static_cast<int>(i);
    }
    for (const Move& move : code.next) next_[move.to] = move.from.reg;
  }

  std::unique_ptr<const TrailingCode> Divide() {
    if (UsesTemporaries()) return nullptr;
    FindTrailingVariables();
    KeepHalf();
    if (trailing_variables_.empty()) return nullptr;
    Split();
    if (made_.body.empty()) return nullptr;
    FindHandedOver();
    for (auto* part : {&made_.main.condition, &made_.main.body}) {
      for (Instruction& instruction : *part) KeepHandedOver(&instruction);
    }
    MoveAtLastUse();
    return std::make_unique<const TrailingCode>(std::move(made_));
  }

 private:
  // True if `next` exchanges variables, as in (a, b) = (b, a), by means of a register that is no
  // variable.
  bool UsesTemporaries() const {
    return std::any_of(code_.next.begin(), code_.next.end(), [this](const Move& move) {
      return std::find(code_.variables.begin(), code_.variables.end(), move.to) ==
             code_.variables.end();
    });
  }

  // Whether the main thread must run the instruction, whatever reads its outputs.
  bool IsPinned(const Instruction& instruction) const {
    return instruction.action != Instruction::kKernel || !instruction.guards.empty() ||
           !may_trail_(instruction);
  }

  // Adds register `reg`, and all that it depends on, to `needs`.
  void AddNeeds(int reg, Needs* needs) const {
    std::vector<int> open{reg};
    while (!open.empty()) {
      const int read = open.back();
      open.pop_back();
      if (next_.count(read) != 0) needs->variables.insert(read);
      const auto writer = writers_.find(read);
      if (writer == writers_.end() || needs->instructions[writer->second]) continue;
      AddInstruction(writer->second, &open, needs);
    }
  }

  void AddInstruction(int index, std::vector<int>* open, Needs* needs) const {
    needs->instructions[index] = true;
    ForEachRead(code_.body[index], [open](const Read& read, int) { open->push_back(read.reg); });
  }

  Needs NoNeeds() const { return {std::vector<bool>(code_.body.size(), false), {}}; }

  // Returns the needs of the condition, of the awaited values and of the instructions that must run
  // on the main thread. An instruction that no variable needs is one of them, because it may fail.
  Needs NeedsOfMainThread() const {
    Needs of_variables = NoNeeds();
    for (const Move& move : code_.next) AddNeeds(move.from.reg, &of_variables);
    Needs needs = NoNeeds();
    for (const Instruction& instruction : code_.condition) {
      ForEachRead(instruction, [&](const Read& read, int) { AddNeeds(read.reg, &needs); });
    }
    AddNeeds(code_.predicate, &needs);
    for (int reg : code_.awaited) AddNeeds(reg, &needs);
    for (size_t i = 0; i < code_.body.size(); ++i) {
      if (of_variables.instructions[i] && !IsPinned(code_.body[i])) continue;
      needs.instructions[i] = true;
      ForEachRead(code_.body[i], [&](const Read& read, int) { AddNeeds(read.reg, &needs); });
    }
    return needs;
  }

  void FindTrailingVariables() {
    main_ = NeedsOfMainThread();
    std::set<int> read_by_others = main_.variables;
    for (const Move& move : code_.next) {
      Needs needs = NoNeeds();
      AddNeeds(move.from.reg, &needs);
      needs.variables.erase(move.to);
      read_by_others.insert(needs.variables.begin(), needs.variables.end());
    }
    for (const Move& move : code_.next) {
      if (read_by_others.count(move.to) == 0) {
        trailing_variables_.insert(move.to);
        continue;
      }
      has_main_recurrence_ |= main_.variables.count(move.to) == 0;
      AddNeeds(move.from.reg, &main_);
    }
  }

  // If next to nothing would be left to the main thread, makes main variables of those trailing
  // ones that bring its work nearer to half of all. One at least goes on trailing. If the main
  // thread has a recurrence anyway, it stays as it is, because light instructions may be light by
  // name only.
  void KeepHalf() {
    if (has_main_recurrence_ || WorkOf(main_) >= kHeavyWork) return;
    const int64_t all = WorkOf({std::vector<bool>(code_.body.size(), true), {}});
    for (const Move& move : code_.next) {
      if (trailing_variables_.count(move.to) == 0) continue;
      Needs more = main_;
      AddNeeds(move.from.reg, &more);
      if (std::abs(2 * WorkOf(more) - all) >= std::abs(2 * WorkOf(main_) - all)) continue;
      main_ = std::move(more);
      trailing_variables_.erase(move.to);
      made_.keeps_half = true;
    }
  }

  // A guess, because nothing has been measured yet.
  int64_t WorkOf(const Needs& needs) const {
    int64_t work = 0;
    for (size_t i = 0; i < code_.body.size(); ++i) {
      if (needs.instructions[i]) work += is_light_(code_.body[i]) ? 1 : kHeavyWork;
    }
    return work;
  }

  // Puts each move and each instruction into the main or the trailing part.
  void Split() {
    Needs trailing = NoNeeds();
    made_.main = code_;
    made_.main.next.clear();
    made_.main.body.clear();
    for (const Move& move : code_.next) {
      const bool trails = trailing_variables_.count(move.to) != 0;
      if (trails) AddNeeds(move.from.reg, &trailing);
      (trails ? made_.next : made_.main.next).push_back(move);
    }
    for (size_t i = 0; i < code_.body.size(); ++i) {
      const bool trails = trailing.instructions[i] && !main_.instructions[i];
      made_.is_trailing.push_back(trails);
      (trails ? made_.body : made_.main.body).push_back(code_.body[i]);
    }
    made_.variables.assign(trailing_variables_.begin(), trailing_variables_.end());
  }

  // Whether the main part writes `reg` in every iteration.
  bool IsWrittenByMain(int reg) const {
    if (trailing_variables_.count(reg) != 0) return false;
    if (next_.count(reg) != 0) return true;
    const auto writer = writers_.find(reg);
    if (writer != writers_.end()) return !made_.is_trailing[writer->second];
    return std::any_of(
        code_.condition.begin(), code_.condition.end(), [reg](const Instruction& instruction) {
          return std::count(instruction.outputs.begin(), instruction.outputs.end(), reg) != 0;
        });
  }

  bool IsWrittenByTrailing(int reg) const {
    const auto writer = writers_.find(reg);
    return trailing_variables_.count(reg) != 0 ||
           (writer != writers_.end() && made_.is_trailing[writer->second]);
  }

  void FindHandedOver() {
    std::set<int> constants;
    const auto add = [&](const Read& read, int) {
      if (IsWrittenByMain(read.reg)) {
        handed_over_.insert(read.reg);
      } else if (!IsWrittenByTrailing(read.reg)) {
        constants.insert(read.reg);
      }
    };
    for (const Instruction& instruction : made_.body) ForEachRead(instruction, add);
    for (const Move& move : made_.next) add(move.from, -1);
    made_.constants.assign(constants.begin(), constants.end());
    for (int reg : handed_over_) {
      const bool moved = std::any_of(made_.main.next.begin(), made_.main.next.end(),
                                     [reg](const Move& move) { return move.from.reg == reg; });
      made_.handed_over.push_back({reg, !moved});
    }
  }

  // If several moves read one register, the last of them takes the buffer out of it. If that move
  // is one of a trailing variable, the last move of the main part must take the buffer instead: the
  // register would otherwise keep it.
  void MoveAtLastUse() {
    std::set<int> moved;
    for (const Move& move : code_.next) {
      if (move.from.last) moved.insert(move.from.reg);
    }
    for (auto move = made_.main.next.rbegin(); move != made_.main.next.rend(); ++move) {
      move->from.last = moved.erase(move->from.reg) != 0;
    }
  }

  // Changes a main instruction so that the handed-over registers keep their values.
  void KeepHandedOver(Instruction* instruction) const {
    ForEachRead(*instruction,
                [this](Read& read, int) { read.last &= handed_over_.count(read.reg) == 0; });
    auto& releases = instruction->releases;
    releases.erase(std::remove_if(releases.begin(), releases.end(),
                                  [this](int reg) { return handed_over_.count(reg) != 0; }),
                   releases.end());
  }

  const LoopCode& code_;
  const Test& may_trail_;
  const Test& is_light_;
  std::map<int, int> writers_;  // by register: the instruction of the body that writes it
  std::map<int, int> next_;     // by variable that changes: the register of its next value
  Needs main_;                  // of everything that the main thread runs
  std::set<int> trailing_variables_, handed_over_;
  bool has_main_recurrence_ = false;  // a main variable because others read it
  TrailingCode made_;
};

}  // namespace

std::unique_ptr<const TrailingCode> DivideTrailing(const LoopCode& code, const Test& may_trail,
                                                   const Test& is_light) {
  return Divider(code, may_trail, is_light).Divide();
}

}  // namespace tensor_array_grad
