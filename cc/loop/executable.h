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
  std::unique_ptr<tensorflow::OpKernel> kernel;  // null for nodes that no instruction runs
  SmallOp small;
  std::unique_ptr<bool[]> outputs_required;
  tensorflow::NodeDef def;  // of nodes without a kernel: what errors name
};

// A program with its kernels, ready to run. Immutable but for what it remembers of hand-backs,
// hence shared by concurrent runs: a kernel's Compute is thread-safe.
struct Executable {
  std::unique_ptr<tensorflow::Graph> graph;  // that the program names nodes of
  Program program;
  std::vector<NodeKernel> kernels;        // by index into Program::nodes
  std::vector<int> register_of_arg;       // by input of the op
  int most_inputs = 1, most_outputs = 1;  // of any node
  int parallel_iterations = 10;
  std::unique_ptr<tensorflow::Device> pooled_device;  // null where there is none
  mutable HandBackMemory hand_backs;
};

// Makes the executable of the frame in `frame`, the attribute of the op RunLoop: a serialised
// GraphDef of one outermost loop, whose Enter nodes read _Arg nodes numbered by the op's inputs.
// FailedPrecondition, "reason: detail", where a kernel cannot be made or could not be called.
absl::StatusOr<std::unique_ptr<Executable>> Prepare(const std::string& frame,
                                                    tensorflow::OpKernelConstruction* ctx);

}  // namespace tensor_array_grad

#endif  // CC_LOOP_EXECUTABLE_H_
