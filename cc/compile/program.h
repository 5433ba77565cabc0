#ifndef CC_COMPILE_PROGRAM_H_
#define CC_COMPILE_PROGRAM_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"

namespace tensor_array_grad {

// A while loop as code for the interpreter, without kernels (executable.h adds them).
//
// Values are held in numbered *registers*. A node that only passes a value on (Identity, Switch,
// LoopCond, Enter, Exit, NextIteration) has no instruction: its output has the register of its
// input. A register does not record whether its value is dead. This is the task of *flags*, one for
// each requirement (liveness.h): the first Switch of a predicate adds a kBranch instruction, which
// sets the flags of the predicate, and an instruction runs if the flags of its guards are set. An
// instruction in a branch that is not taken costs one test of its guards.
//
// A register is emptied at the last read of its value, so that memory is freed as early as in the
// executor and a kernel may work in place on a buffer that nothing else reads. Only the small
// buffer of a number or of an index stays for the next iteration (Value::ReleaseTensor). Which read
// is the last one depends on the branches taken. In
//
//     if p: a = SetItem(list, i, x)   else: a = list
//
// SetItem is the last reader of `list` in iterations where p holds, though the Merge of `a` comes
// after it.
//
// Example: while i < 3: i = i + 1, where i is in register 0 and the constants 3 and 1 are in 1 and
// 2:
//
//     condition:  Less  0 1 -> 3        predicate 3
//     body:       AddV2 0 2 -> 4        (last read of 0)
//     next:       4 -> 0                (moved)

// One read of a register.
struct Read {
  int reg = -1;
  // If the instruction runs, no other read of this value happens at the same time or later. If one
  // instruction reads a value twice, neither read is the last. Exception: two alternatives of a
  // Merge of which at most one can be live may both be last.
  bool last = false;
};

using Flags = absl::InlinedVector<int, 2>;

// One of the values that a Merge may pass on.
struct Alternative {
  Flags guards;
  Read from;
};

struct Instruction {
  enum Action {
    kKernel,  // runs the small op or the kernel of `node` on `inputs`
    kBranch,  // sets the flag sides[v], where v is inputs[0], and clears the others
    kMerge,   // outputs[0] = the first alternative that is live, outputs[1] = its number
    kLoop,    // runs `loop`; `inputs` are the first values of its variables
  };
  Action action = kKernel;
  int node = -1;  // index into Program::nodes: the node that errors name and that kKernel runs
  Flags guards;   // runs only if all these flags are set
  absl::InlinedVector<Read, 4> inputs;
  absl::InlinedVector<int, 2> outputs;    // registers; -1: nothing reads the output
  absl::InlinedVector<int, 1> releases;   // registers emptied afterwards, even if not run
  absl::InlinedVector<int, 2> sides;      // of a kBranch: a flag for each side
  std::vector<Alternative> alternatives;  // of a kMerge
  int flag = -1;                          // of a kMerge that may be dead: set if it is live
  int loop = -1;                          // of a kLoop: index into Program::loops
  std::vector<Read> constants;            // of a kLoop: values that all its iterations share
  // The instructions that this one waits for because of control edges: k for body[k], ~k for
  // condition[k]. The order of the code already respects them; only the estimate in loop_cost.h
  // reads this.
  absl::InlinedVector<int, 2> after;
};

// Calls f(read, k) for each Read of an instruction, which may be const: k is the number of the
// alternative that it belongs to, or -1.
template <typename AnInstruction, typename F>
void ForEachRead(AnInstruction& instruction, F f) {
  for (auto& read : instruction.inputs) f(read, -1);
  for (auto& read : instruction.constants) f(read, -1);
  int alternative = 0;
  for (auto& each : instruction.alternatives) f(each.from, alternative++);
}

// A copy from one register to another. If `from.last`, the value is moved and `from` must not be
// read again.
struct Move {
  Read from;
  int to = -1;
};

// The code of one frame. An iteration runs `condition`, ends the loop if `predicate` is false,
// empties the registers in `dropped`, runs `body`, and does the moves of `next`.
struct LoopCode {
  std::vector<Instruction> condition;
  int predicate = -1;        // register that says whether the body runs
  int loop_cond = -1;        // index into Program::nodes
  std::vector<int> dropped;  // variables that only the condition reads and `next` replaces
  std::vector<Instruction> body;
  std::vector<Move> next;      // done in this order
  std::vector<int> variables;  // registers, one per Enter that is not constant; -1: not read
  // Registers with the output of a node at which a control edge begins. Nodes may wait for the
  // value without reading it (trailing_code.h).
  std::vector<int> awaited;
  int nodes = 0;  // nodes of the frame: how many the executor handles per iteration
};

// A constant, which is in its register before the loop starts.
struct ConstantRegister {
  int reg;
  Tensor value;
};

// The code of an outermost loop and of all loops inside it. The registers and flags of all of them
// are numbered together. Immutable after Compile.
struct Program {
  std::vector<LoopCode> loops;     // the outermost first
  std::vector<const Node*> nodes;  // nodes of the graph, which owns them
  std::vector<ConstantRegister> constants;
  std::vector<int> arguments;  // registers of the values that enter, as in Frame::enters
  int registers = 0;
  int flags = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_PROGRAM_H_
