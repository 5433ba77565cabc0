#ifndef CC_COMPILE_READERS_H_
#define CC_COMPILE_READERS_H_

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cc/compile/program.h"
#include "cc/flow/liveness.h"

namespace tensor_array_grad {

// Turns copies that happen all at once, pairs (from, to), into moves that are done one after the
// other. A value that would be overwritten too early is moved to a register from `new_register`
// first, as in (a, b) = (b, a). Requires: no two copies have the same `to`. O(n log n) for n
// copies.
std::vector<Move> InOrder(const std::vector<std::pair<int, int>>& copies,
                          const std::function<int()>& new_register);

// What each instruction of a frame requires to run, without LoopCond=1 (liveness.h).
struct InstructionRequirements {
  const Liveness& liveness;
  const std::vector<Requirements>& condition;  // by instruction of LoopCode::condition
  const std::vector<Requirements>& body;       // by instruction of LoopCode::body
  // Of a Merge's inputs, by Instruction::node.
  const std::map<int, std::vector<Requirements>>& alternatives;
};

// Sets Read::last, Instruction::releases and LoopCode::dropped in the code of one frame.
//
// Invariants:
//
// - After a read that is `last`, no instruction that runs in the same iteration reads the register
//   before it is written again, and the instruction itself reads it once.
// - Values that enter the frame as constants, and variables that no move replaces, are never
//   released.
// - The condition releases no variable, because it may be the last code that runs and the
//   variables are the loop's results.
// - Any other value is released once the iteration is past its last reader, whichever branches were
//   taken.
//
// O(k^2) for the k readers of one value, up to 64 readers; linear for more.
void MarkLastReaders(const InstructionRequirements& when, LoopCode* code);

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_READERS_H_
