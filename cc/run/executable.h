#ifndef CC_RUN_EXECUTABLE_H_
#define CC_RUN_EXECUTABLE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "cc/compile/program.h"
#include "cc/run/function_call.h"
#include "cc/run/pace.h"
#include "cc/run/pooled_device.h"
#include "cc/run/trailing_code.h"
#include "cc/small_ops/small_op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// The kernel of one node of a program, and what a call of it needs.
struct NodeKernel {
  std::unique_ptr<tensorflow::OpKernel> kernel;  // null if the node has no kKernel instruction
  std::unique_ptr<FunctionCall> call;            // set if the kernel is asynchronous
  SmallOp small;                                 // tried before the kernel, if it exists
  std::unique_ptr<bool[]> outputs_required;      // by output: whether an edge reads it
  tensorflow::NodeDef def;                       // set if the node has no kernel; errors name it
};

// A program with its kernels, ready to run. Concurrent runs may share it: only `choices`
// changes, which is thread-safe, and TensorFlow requires that a kernel's Compute is thread-safe.
struct Executable {
  std::unique_ptr<tensorflow::Graph> graph;  // owns the nodes in Program::nodes
  Program program;
  std::unique_ptr<const TrailingCode> trailing;  // of the outermost loop; null: no part can trail
  std::vector<NodeKernel> kernels;               // by index into Program::nodes
  std::vector<int> register_of_arg;              // by input of RunLoop
  int most_inputs = 1, most_outputs = 1;         // of any node with a kernel
  int parallel_iterations = 10;
  bool is_seeded = false;                             // HasSeededNode: never left to the executor
  std::unique_ptr<tensorflow::Device> pooled_device;  // null: the op's own device
  mutable ChoiceMemory choices;
};

// Makes the executable for `frame`, the attribute of the op RunLoop: a serialised GraphDef of one
// outermost loop whose Enter nodes read _Arg nodes. The index of an _Arg is the number of the op's
// input. The device of `ctx` must outlive the result.
//
// Returns FailedPrecondition, "reason: detail", if the loop cannot be compiled or if a kernel
// cannot be made or called. Returns TensorFlow's error if the GraphDef is not a valid graph.
absl::StatusOr<std::unique_ptr<Executable>> Prepare(const std::string& frame,
                                                    tensorflow::OpKernelConstruction* ctx);

}  // namespace tensor_array_grad

#endif  // CC_RUN_EXECUTABLE_H_
