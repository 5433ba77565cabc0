#include "cc/compile/readers.h"

#include <algorithm>
#include <set>

namespace tensor_array_grad {
namespace {

// If a value has more readers than this, they are not compared in pairs, and only the last one in
// the order of the code can be a last reader.
constexpr size_t kMostReadersCompared = 64;

// One place that reads a register.
struct Use {
  int position;
  const Requirements* when;
  Read* read;  // null if this reader must not release the value
};

// The reads of the registers that a frame writes, in the order of the code.
//
// Each instruction has a *position*: the instructions of the condition come first, then LoopCond's
// read of the predicate, the instructions of the body, the moves, and the end of the iteration, at
// which variables that no move replaces are read.
//
// Which read of a value is the last depends on the branches taken. A read is the last if every
// other read at the same or a later position is in a branch that excludes that of the read. Several
// reads can be the last then, in different branches. In some iterations none of them runs: the
// value was computed, but its readers are all in branches that were not taken. So unless the final
// read in the code runs whenever the value is computed, the instruction at that position releases
// the register whatever its guards (Instruction::releases). A second release of an empty register
// does nothing.
class Uses {
 public:
  // Fills Value::uses, in the order of positions. A register is written before it is read.
  Uses(const InstructionRequirements& when, LoopCode* code) : when_(when), code_(*code) {
    const std::set<int> variables(code_.variables.begin(), code_.variables.end());
    for (int reg : variables) Define(reg, nullptr, &always_);
    for (const Move& move : code_.next) {
      if (variables.count(move.to) != 0) replaced_variables_.insert(move.to);
    }
    CollectFrom(&code_.condition, when_.condition, &variables);
    Add(code_.predicate, always_, nullptr);
    predicate_position_ = position_;
    Next(nullptr);
    CollectFrom(&code_.body, when_.body, nullptr);
    for (Move& move : code_.next) {
      const int from = move.from.reg;
      const bool stays = variables.count(from) != 0 && replaced_variables_.count(from) == 0;
      Add(from, always_, stays ? nullptr : &move.from);
      Define(move.to, nullptr, &always_);
      Next(nullptr);
    }
    for (int reg : variables) {
      if (replaced_variables_.count(reg) == 0) Add(reg, always_, nullptr);
    }
  }

  void Mark() {
    for (auto& [reg, value] : values_) MarkValue(reg, &value);
  }

 private:
  // A register that this frame writes.
  struct Value {
    Instruction* defined_by;  // null for variables and targets of moves
    const Requirements* defined_when;
    std::vector<Use> uses;
  };

  void Define(int reg, Instruction* by, const Requirements* when) {
    if (reg >= 0) values_.insert({reg, {by, when, {}}});
  }

  // Adds a use at the current position. Ignores registers that this frame does not write.
  void Add(int reg, const Requirements& when, Read* read) {
    const auto value = values_.find(reg);
    if (value != values_.end()) value->second.uses.push_back({position_, &when, read});
  }

  // Adds the reads and writes of `part`. Its instructions must not release the registers in `kept`.
  void CollectFrom(std::vector<Instruction>* part, const std::vector<Requirements>& requirements,
                   const std::set<int>* kept) {
    for (size_t i = 0; i < part->size(); ++i) {
      Instruction& instruction = (*part)[i];
      ForEachRead(instruction, [&](Read& read, int alternative) {
        const bool keeps = kept != nullptr && kept->count(read.reg) != 0;
        const Requirements& when = alternative < 0
                                       ? requirements[i]
                                       : when_.alternatives.at(instruction.node)[alternative];
        Add(read.reg, when, keeps ? nullptr : &read);
      });
      for (int reg : instruction.outputs) Define(reg, &instruction, &requirements[i]);
      Next(&instruction);
    }
  }

  // Ends the current position, which is that of `instruction` or of no instruction.
  void Next(Instruction* instruction) {
    at_.push_back(instruction);
    ++position_;
  }

  // Whether another use of the value, at the position of `use` or later, may occur in the same
  // iteration as `use`.
  bool IsReadAfter(const std::vector<Use>& uses, const Use& use) const {
    if (uses.size() > kMostReadersCompared) {
      return &use != &uses.back() || uses[uses.size() - 2].position == use.position;
    }
    return std::any_of(uses.begin(), uses.end(), [&](const Use& other) {
      return &other != &use && other.position >= use.position &&
             !when_.liveness.Exclude(*use.when, *other.when);
    });
  }

  // Sets Read::last of all uses of `value`, and adds the release that the class comment explains. A
  // variable that a move replaces and that the body does not read is emptied before the body,
  // because the condition must not release it.
  void MarkValue(int reg, Value* value) {
    const bool read_in_body =
        !value->uses.empty() && value->uses.back().position > predicate_position_;
    if (replaced_variables_.count(reg) != 0 && !read_in_body) code_.dropped.push_back(reg);
    if (value->uses.empty()) {
      if (value->defined_by != nullptr) value->defined_by->releases.push_back(reg);
      return;
    }
    for (const Use& use : value->uses) {
      if (use.read != nullptr) use.read->last = !IsReadAfter(value->uses, use);
    }
    const Use& final = value->uses.back();
    if (final.read == nullptr || (final.read->last && *final.when == *value->defined_when)) return;
    Instruction* const at = at_[final.position];
    if (at != nullptr) at->releases.push_back(reg);
  }

  const InstructionRequirements& when_;
  LoopCode& code_;
  const Requirements always_;
  std::map<int, Value> values_;
  std::vector<Instruction*> at_;  // by position
  std::set<int> replaced_variables_;
  int position_ = 0, predicate_position_ = 0;
};

}  // namespace

std::vector<Move> InOrder(const std::vector<std::pair<int, int>>& copies,
                          const std::function<int()>& new_register) {
  std::map<int, int> open;   // the copies that are still to be made: from, by target
  std::map<int, int> reads;  // by register: how many open copies read it
  for (const auto& [from, to] : copies) {
    if (from == to) continue;
    open[to] = from;
    ++reads[from];
  }
  std::vector<int> free;  // the targets that no open copy reads: they may be written now
  for (const auto& [to, from] : open) {
    if (reads.count(to) == 0) free.push_back(to);
  }
  std::vector<Move> moves;
  std::map<int, int> kept;  // by register: where its value is, if it was moved
  while (!open.empty()) {
    if (free.empty()) {
      // Every target is read by one open copy, so all of them are in cycles. The first one's value
      // is moved to another register for its reader.
      const int target = open.begin()->first;
      kept[target] = new_register();
      moves.push_back({{target}, kept[target]});
      free.push_back(target);
    }
    const int to = free.back();
    const int from = open.at(to);
    free.pop_back();
    open.erase(to);
    const auto moved = kept.find(from);
    moves.push_back({{moved == kept.end() ? from : moved->second}, to});
    if (--reads[from] == 0 && open.count(from) != 0) free.push_back(from);
  }
  return moves;
}

void MarkLastReaders(const InstructionRequirements& when, LoopCode* code) {
  Uses(when, code).Mark();
}

}  // namespace tensor_array_grad
