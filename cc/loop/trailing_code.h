#ifndef CC_LOOP_TRAILING_CODE_H_
#define CC_LOOP_TRAILING_CODE_H_

#include <functional>
#include <memory>
#include <vector>

#include "cc/loop/program.h"

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
// `dU`. So a second thread may run the second line of iteration k while the first thread runs the
// first line of iteration k + 1.
//
// A *trailing variable* is a loop variable that only its own next value depends on: neither the
// condition, nor another variable, nor an instruction that must run on the first thread reads it or
// waits for it by a control edge, directly or through other instructions. The *trailing
// instructions* are those that only trailing variables need. All other instructions and variables
// are the *main* ones.
//
// Why the results are the same: main instructions read nothing that a trailing instruction writes.
// Trailing instructions read trailing variables, constants of the loop, and registers that the main
// part of the same iteration has written (`handed_over`). Each thread runs its instructions in the
// order of the undivided code, and the trailing part of an iteration runs after its main part. More
// buffers are shared than in the undivided code, though. The loop must therefore have no
// instruction whose result depends on shared buffers. AddN of three or more terms is one: it begins
// with a term whose buffer no other tensor shares, so its rounding depends on them. The caller
// checks this (executable.cc).
struct TrailingCode {
  // The loop without its trailing instructions and variables. No read of a register in
  // `handed_over` is the last one, so all of them have their values at the end of the body.
  LoopCode main;

  std::vector<Instruction> body;  // the trailing instructions
  std::vector<Move> next;         // of the trailing variables
  std::vector<int> variables;     // registers of the trailing variables
  std::vector<int> constants;     // registers that `body` and `next` read and no iteration changes

  // The registers that the trailing part reads and the main part writes. They are read after
  // `main.body` and before `main.next`. A read is `last` if `main.next` does not need the register.
  std::vector<Read> handed_over;

  std::vector<bool> is_trailing;  // by instruction of the undivided body
};

// Divides the outermost loop `code`. `may_trail` is asked for instructions with the action kKernel:
// true if another thread may run the instruction later than instructions that follow it, which
// requires that it has no side effects. Instructions in branches, Merges and inner loops never
// trail.
//
// Returns null if no instruction can trail. O(v * n) for v variables and n instructions.
std::unique_ptr<const TrailingCode> DivideTrailing(
    const LoopCode& code, const std::function<bool(const Instruction&)>& may_trail);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_TRAILING_CODE_H_
