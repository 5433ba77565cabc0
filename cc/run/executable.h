#ifndef CC_RUN_EXECUTABLE_H_
#define CC_RUN_EXECUTABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cc/base/loop_record.h"
#include "cc/compile/inline_call.h"
#include "cc/compile/program.h"
#include "cc/device/kernel_names.h"
#include "cc/flow/graph_names.h"
#include "cc/run/called_functions.h"
#include "cc/run/frame_checks.h"
#include "cc/run/function_call.h"
#include "cc/run/pooled_device.h"
#include "cc/schedule/choice_memory.h"
#include "cc/schedule/trailing_code.h"
#include "cc/small_ops/small_op.h"

namespace tensor_array_grad {

// The kernel of one node of a program, and what a call of it needs.
struct NodeKernel {
  std::unique_ptr<OpKernel> kernel;          // null if the node has no kKernel instruction
  std::unique_ptr<FunctionCall> call;        // set if the kernel runs functions
  bool takes_lock = false;                   // whether the kernel is asynchronous and calls nothing
  SmallOp small;                             // tried before the kernel, if not empty
  std::unique_ptr<bool[]> outputs_required;  // by output: whether an edge reads it
};

// A program with its kernels, ready to run. Concurrent runs may share it: what changes (`choices`,
// `called`, FunctionCall, counts of the records) is thread-safe, and TensorFlow requires that a
// kernel's Compute is thread-safe.
struct Executable {
  std::unique_ptr<Graph> graph;  // owns the nodes in Program::nodes
  Program program;
  std::unique_ptr<const TrailingCode> trailing;   // of the outermost loop; null: no part can trail
  std::vector<NodeKernel> kernels;                // by index into Program::nodes
  std::vector<int> register_of_arg;               // by input of RunLoop
  std::vector<std::pair<int, int>> known_inputs;  // input of RunLoop, and the bool it must be
  int most_inputs = 1, most_outputs = 1;          // of any node with a kernel
  int parallel_iterations = 10;
  bool is_seeded = false;                             // HasSeededNode: never left to the executor
  bool takes_locks = false;                           // a run may wait (Interpreter::is_waiting)
  std::unique_ptr<tensorflow::Device> pooled_device;  // null: the op's own device
  // By loop of the program, null for the outermost; empty unless loops are watched.
  std::vector<std::shared_ptr<LoopRecord>> records;
  mutable ChoiceMemory choices;
  mutable CalledFunctions called;
};

// What kernels are made with. All of it must outlive them.
struct Host {
  explicit Host(OpKernelConstruction* ctx);
  const tensorflow::FunctionLibraryDefinition* functions() const;  // may be null

  tensorflow::DeviceBase* device;
  tensorflow::FunctionLibraryRuntime* library;  // may be null
  tensorflow::ResourceMgr* resources;
  int graph_def_version;
  bool may_wait;  // whether the op RunLoop is one that may wait for locks
};

// Makes the executable for `frame`, the attribute of the op RunLoop with these inputs: a serialised
// GraphDef of one outermost loop whose Enter nodes read _Arg nodes. The index of an _Arg is the
// number of the op's input. The functions of `inlined` take the place of their calls, in this
// order. `record` is the id of the loop's record; inner loops get records if loops are watched.
//
// Returns InvalidArgument, which names what was found and what is needed, if `frame` is no GraphDef
// or contradicts `inputs`: there must be one _Arg for each input, of its dtype, and an Enter that
// reads it, which is constant if and only if the input is no variable. Returns FailedPrecondition,
// "reason: detail", if the GraphDef is not a valid graph, if the loop cannot be compiled, or if a
// kernel cannot be made or called.
absl::StatusOr<std::unique_ptr<Executable>> Prepare(const std::string& frame,
                                                    const LoopInputs& inputs, const Host& host,
                                                    std::vector<InlinedCall> inlined = {},
                                                    int64_t record = 0);

}  // namespace tensor_array_grad

#endif  // CC_RUN_EXECUTABLE_H_
