#ifndef CC_LOOP_EXECUTABLE_H_
#define CC_LOOP_EXECUTABLE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "cc/loop/hand_back.h"
#include "cc/loop/pooled_device.h"
#include "cc/loop/program.h"
#include "cc/loop/small_ops.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// What one node of a program needs at run time.
struct NodeKernel {
  std::unique_ptr<tensorflow::OpKernel> kernel;  // null if the node has no kKernel instruction
  SmallOp small;
  std::unique_ptr<bool[]> outputs_required;
  tensorflow::NodeDef def;  // set if the node has no kernel; errors name it
};

// A program with its kernels, ready to run. Concurrent runs share it: it never changes, except for
// `hand_backs`, which is thread-safe, and a kernel's Compute is thread-safe.
struct Executable {
  std::unique_ptr<tensorflow::Graph> graph;  // owns the nodes in Program::nodes
  Program program;
  std::vector<NodeKernel> kernels;        // by index into Program::nodes
  std::vector<int> register_of_arg;       // by input of RunLoop
  int most_inputs = 1, most_outputs = 1;  // of any node with a kernel
  int parallel_iterations = 10;
  std::unique_ptr<tensorflow::Device> pooled_device;  // null: the op's own device
  mutable HandBackMemory hand_backs;
};

// Makes the executable for `frame`, the attribute of the op RunLoop. It is a serialised GraphDef of
// one outermost loop whose Enter nodes read _Arg nodes; the index of an _Arg is the number of the
// op's input. Returns FailedPrecondition, "reason: detail", if the loop cannot be compiled or if a
// kernel cannot be made or called.
absl::StatusOr<std::unique_ptr<Executable>> Prepare(const std::string& frame,
                                                    tensorflow::OpKernelConstruction* ctx);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_EXECUTABLE_H_
