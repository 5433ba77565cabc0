#ifndef CC_KERNELS_ACTIVATION_H_
#define CC_KERNELS_ACTIVATION_H_

#include <string>
#include <vector>

namespace tensor_array_grad {

// Whether this copy of the library took over stock's ops, and in one sentence why or why not.
struct Activation {
  bool active = false;
  std::string cause;   // of a refusal, for programs: off, version, second copy, gpu, hole
  std::string reason;  // for people
};

// One kernel in TensorFlow's registry, stock's or ours.
struct RegisteredKernel {
  std::string op;
  std::string device;              // "CPU", "GPU"; "DEFAULT" is any but a CPU
  std::vector<std::string> types;  // the dtypes it is constrained to; empty means all
  int priority = 0;                // stock has 0, ours 1
  std::string label;               // kernels with a label are chosen by name only
};

// A set of ops that share one kind of array, so that one library must serve all of them or none.
struct OpFamily {
  std::string name;
  std::vector<std::string> ops;
};

// The families that this library is made to serve.
const std::vector<OpFamily>& OpFamilies();

// What the process looks like at the moment the library is loaded.
struct Surroundings {
  std::string environment_switch;         // value of TENSOR_ARRAY_GRAD, "" when unset
  std::string running_version;            // of TensorFlow; "" when it cannot be told
  bool gpu_visible = false;               // TensorFlow can use a GPU in this process
  std::string gpu_switch;                 // value of TENSOR_ARRAY_GRAD_GPU, "" when unset
  std::string gpu_obstacle;               // why our device code cannot run there, "" if it can
  std::vector<RegisteredKernel> kernels;  // of the ops of all families
};
Surroundings LookAround();

// Every kernel that TensorFlow has now for the ops of all families. O(kernels in the process).
std::vector<RegisteredKernel> KernelsOfFamilies();

// What this library was built as.
struct Built {
  std::string version;                    // of TensorFlow, "2.21.0"
  bool gpu_kernels = false;               // device code and kernels for GPU are in it
  std::vector<RegisteredKernel> kernels;  // all that it would register
};

// Decides, from the loading of the library on, for the whole process: stock's kernels cannot be
// restored once overridden, and two kernels of one priority break every graph that has the op.
//
// Pure, so that each refusal has a test. O(kernels * ops).
Activation Decide(const Surroundings& around, const Built& built);

// The places where stock has a kernel for a dtype and `ours` has none: "op on device". An op that
// is missing from a family would meet arrays of the other kind, so any hole is a reason to override
// nothing. Looks at GPUs too if `gpu`; a kernel of stock's for DEFAULT serves a GPU as well.
std::vector<std::string> Holes(const std::vector<RegisteredKernel>& stock,
                               const std::vector<RegisteredKernel>& ours, bool gpu);

// This copy of the library: how it was built, and the decision made once while it was loaded.
Built ThisBuild();
const Activation& ThisActivation();

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_ACTIVATION_H_
