#include "cc/compile/locks.h"

#include <algorithm>
#include <memory>

#include "cc/base/op_names.h"
#include "cc/compile/eligibility.h"
#include "cc/flow/op_facts.h"

namespace tensor_array_grad {
namespace {

constexpr char kReason[] = "several locks at once";

// A lock that the loop has while its instructions are checked in their order.
class HeldLock {
 public:
  explicit HeldLock(const Instruction& taken_by)
      : guards_(taken_by.guards), reg_(taken_by.outputs[0]) {}

  // Whether `instruction` only gives the lock up, or has nothing to do with it.
  bool AllowsReader(const Instruction& instruction, const Node& node) const {
    return !Reads(instruction, /*last=*/false) || node.type_string() == ops::kConsumeMutexLock;
  }

  // Whether the register is empty after `instruction` in each iteration in which it was set.
  bool IsGivenUpBy(const Instruction& instruction) const {
    const auto& releases = instruction.releases;
    return std::count(releases.begin(), releases.end(), reg_) != 0 ||
           (Reads(instruction, /*last=*/true) && instruction.guards == guards_);
  }

 private:
  // Whether `instruction` has a read of the lock and, if `last`, one that is the last.
  bool Reads(const Instruction& instruction, bool last) const {
    bool reads = false;
    ForEachRead(instruction,
                [&](const Read& read, int) { reads |= read.reg == reg_ && (read.last || !last); });
    return reads;
  }

  const Flags guards_;
  const int reg_;
};

}  // namespace

absl::Status CheckLocks(const LoopCode& code, const std::vector<const Node*>& nodes) {
  const Node* holder = nullptr;
  std::unique_ptr<HeldLock> lock;
  for (const Instruction& instruction : code.body) {
    const Node& node = *nodes[instruction.node];
    if (lock != nullptr && !lock->AllowsReader(instruction, node)) return Rejected(kReason, node);
    if (lock != nullptr && lock->IsGivenUpBy(instruction)) lock = nullptr;
    if (!HasFact(node, kTakesLock)) continue;
    if (lock != nullptr) return Rejected(kReason, node);
    holder = &node;
    if (instruction.outputs[0] >= 0) lock = std::make_unique<HeldLock>(instruction);
  }
  return lock == nullptr ? absl::OkStatus() : Rejected(kReason, *holder);
}

}  // namespace tensor_array_grad
