#ifndef CC_LOOP_PROGRAM_H_
#define CC_LOOP_PROGRAM_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// A while loop as code: what the interpreter executes, without kernels.
//
// Values live in numbered *registers*. A node that only passes a value on (Identity, Switch,
// LoopCond, Enter, Exit, NextIteration) has no instruction: its output is the register of its
// input. Whether a value is alive is not kept with the value but in *flags*, one for each condition
// (liveness.h): a Branch sets the flags of a predicate, and an instruction runs if the flags of its
// guards are set. An instruction of a branch that is not taken costs one look at its guards.
//
// A register is *released* at its last reader, so that memory is freed as early as in the executor
// and a kernel may work in place on what nothing else reads. "Last" is told apart by path: in
//
//     if p: a = SetItem(list, i, x)   else: a = list
//
// SetItem is the last reader of `list` wherever p holds, though the Merge of `a` comes after it.
//
// Example: while i < 3: i = i + 1 (i in register 0, the constants 3 and 1 in 1 and 2):
//
//     condition:  Less  0 1 -> 3        predicate 3
//     body:       AddV2 0 2 -> 4        (last reader of 0)
//     next:       4 -> 0                (moved)

// A register that an instruction reads.
struct Read {
  int reg = -1;
  // Nothing else reads this value then or afterwards if the instruction runs: of two reads by one
  // instruction neither is the last.
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
    kKernel,  // runs the kernel of `node` on `inputs`, once all are tensors
    kBranch,  // sets the flag `sides[v]` if inputs[0] is v, and clears the others
    kMerge,   // outputs[0] = the first alternative that is alive, outputs[1] = its number
    kLoop,    // runs `loop`, whose variables start as `inputs`
  };
  Action action = kKernel;
  int node = -1;  // index into Program::nodes: what errors name, and for kKernel what runs
  Flags guards;   // flags that must be set
  absl::InlinedVector<Read, 4> inputs;
  absl::InlinedVector<int, 2> outputs;    // registers, -1 where nothing reads the output
  absl::InlinedVector<int, 1> releases;   // registers emptied afterwards, guards or not
  absl::InlinedVector<int, 2> sides;      // of a Branch; -1 for a side that no Switch leads to
  std::vector<Alternative> alternatives;  // of a Merge
  int flag = -1;                          // of a Merge that may be dead: set if it is alive
  int loop = -1;                          // of a Loop: index into Program::loops
  std::vector<Read> constants;            // of a Loop: what its iterations share
  // What it waits for by control edges: k for body[k], ~k for condition[k]. The order of the code
  // sees to that; only the estimate of what could run at the same time needs to know.
  absl::InlinedVector<int, 2> after;
};

// A copy from one register to another; `from` is left empty if `from.last`.
struct Move {
  Read from;
  int to = -1;
};

// One frame.
struct LoopCode {
  std::vector<Instruction> condition;
  int predicate = -1;        // register; whether there is an iteration
  int loop_cond = -1;        // index into Program::nodes
  std::vector<int> dropped;  // variables that only the condition reads: emptied before the body
  std::vector<Instruction> body;
  std::vector<Move> next;      // to be done in this order
  std::vector<int> variables;  // registers, in the order of the frame's Enter nodes; -1: not read
  int nodes = 0;               // that the executor would run in an iteration
};

// A constant, in its register before the loop starts.
struct ConstantRegister {
  int reg;
  tensorflow::Tensor value;
};

struct Program {
  std::vector<LoopCode> loops;                 // the outermost first
  std::vector<const tensorflow::Node*> nodes;  // the graph's
  std::vector<ConstantRegister> constants;
  std::vector<int> arguments;  // registers of the values that enter, by Enter node
  int registers = 0;
  int flags = 0;
};

}  // namespace tensor_array_grad

#endif  // CC_LOOP_PROGRAM_H_
