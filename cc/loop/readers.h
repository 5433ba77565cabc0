#ifndef CC_LOOP_READERS_H_
#define CC_LOOP_READERS_H_

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cc/loop/liveness.h"
#include "cc/loop/program.h"

namespace tensor_array_grad {

// Copies that all happen at once, `from` to `to`, as moves to be done one after the other. A value
// that would be overwritten too early goes through a register that `new_register` makes, as in
// (a, b) = (b, a). Each register is in at most one `to`.
std::vector<Move> InOrder(const std::vector<std::pair<int, int>>& copies,
                          const std::function<int()>& new_register);

// The conditions within an iteration under which each instruction of a frame runs.
struct WhenRun {
  const Liveness& liveness;
  const std::vector<Conditions>& condition;             // by instruction of LoopCode::condition
  const std::vector<Conditions>& body;                  // by instruction of LoopCode::body
  std::map<int, std::vector<Conditions>> alternatives;  // of Merges, by Instruction::node
};

// Sets Read::last and Instruction::releases in the code of one frame.
//
// Invariants: after a read that is `last`, no instruction that runs in the same iteration reads the
// register before it is written again, nor does its own instruction read it twice. Values that
// enter the frame as constants, and variables that no move replaces, are never released; the
// condition releases no variable, since it may be the last to run. Any other value is released when
// the iteration is past its last reader, whichever branches were taken.
void MarkLastReaders(const WhenRun& when, LoopCode* code);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_READERS_H_
