#ifndef CC_SCHEDULE_TRAILING_CODE_H_
#define CC_SCHEDULE_TRAILING_CODE_H_

#include <functional>
#include <memory>
#include <vector>

#include "cc/compile/program.h"

namespace tensor_array_grad {

// Divides the code of a loop so that two threads can run it.
//
// Many loops compute sums over all iterations that nothing else in the loop reads. A backward loop
// adds to the gradient of the weights in every iteration:
//
//     dz = f(dh, ...)            dh' = MatMul(dz, U)         next iteration: dh = dh'
//     dU_k = MatMul(h, dz)       dU' = AddN(dU, dU_k)        next iteration: dU = dU'
//
// The first line of nodes needs `dh` of the iteration before. Nothing but the second line needs
// `dU`. So a second thread may run the second line of iteration k while the main thread, which is
// the thread that runs RunLoop, runs the first line of iteration k + 1. The divided code is
//
//     main part        dz = f(dh, ...), dh' = MatMul(dz, U)           next: dh = dh'
//     trailing part    dU_k = MatMul(h, dz), dU' = AddN(dU, dU_k)     next: dU = dU'
//     handed over      h, dz
//
// A *trailing variable* is a loop variable that only its own next value depends on. The following
// must not read it or wait for it by a control edge, directly or through other instructions: the
// condition, the next value of another variable, and an instruction that may not trail
// (DivideTrailing). A *trailing instruction* computes something for the next value of a trailing
// variable, and nothing else needs it. All others are *main* variables and *main* instructions. An
// instruction that no variable needs is a main one too, because its error must be reported.
//
// Two recurrences that do not read each other could both trail. If next to nothing but a counter
// would then be left to the main thread, some of these variables are main ones, so that it has
// about half of the work.
//
// Why the results are the same: main instructions read nothing that a trailing instruction writes,
// because an instruction from which a main instruction reads is a main one. Trailing instructions
// read trailing variables, results of earlier trailing instructions of the same iteration,
// constants of the loop, and registers that the main part writes (`handed_over`), with their values
// at the end of the main part of the same iteration. Each thread runs the iterations in order and
// the instructions in the order of the undivided code. More buffers are shared than in the
// undivided code, though. The loop must therefore have no instruction whose result depends on
// shared buffers (sum_order.h). The caller checks this (executable.cc).
//
// Immutable after DivideTrailing: several runs may use one TrailingCode at the same time.
struct TrailingCode {
  // The loop without the trailing instructions and without the moves of the trailing variables.
  // `main.variables` still contains these variables. The condition and the body do not empty the
  // registers in `handed_over`, which therefore have their values until `main.next`.
  LoopCode main;

  std::vector<Instruction> body;  // the trailing instructions
  std::vector<Move> next;         // of the trailing variables
  std::vector<int> variables;     // registers of the trailing variables
  std::vector<int> constants;     // registers that `body` and `next` read and no iteration changes

  // The registers that the trailing part reads and the main part writes. They are read after
  // `main.body` and before `main.next`. A read is `last` if `main.next` does not need the register.
  std::vector<Read> handed_over;

  std::vector<bool> is_trailing;  // by instruction of the undivided body
  bool keeps_half = false;        // whether main variables could trail, too
};

// Divides the outermost loop `code`. `may_trail` is called for instructions with the action
// kKernel. It returns true if the instruction may run on another thread, after instructions that
// follow it. Such an instruction has no side effects. Instructions in branches, Merges and inner
// loops never trail. `is_light` is called for all instructions, and returns true if it may take
// much less time than the others.
//
// Returns null if no instruction can trail, or if `next` exchanges variables, as in
// (a, b) = (b, a). O(v * n) for v variables and n instructions.
std::unique_ptr<const TrailingCode> DivideTrailing(
    const LoopCode& code, const std::function<bool(const Instruction&)>& may_trail,
    const std::function<bool(const Instruction&)>& is_light);

}  // namespace tensor_array_grad

#endif  // CC_SCHEDULE_TRAILING_CODE_H_
