#ifndef CC_KERNELS_ACTIVATION_H_
#define CC_KERNELS_ACTIVATION_H_

#include <string>
#include <vector>

namespace tensor_array_grad {

// Whether this copy of the library has replaced stock's kernels, and in one sentence why or why
// not.
struct Activation {
  bool active = false;
  std::string cause;   // of a refusal, for programs: off, version, second copy, gpu, missing kernel
  std::string reason;  // for users
};

// One kernel in TensorFlow's registry, stock's or this library's.
struct RegisteredKernel {
  std::string op;
  std::string device;              // "CPU", "GPU"; "DEFAULT" is any device but a CPU
  std::vector<std::string> types;  // the dtypes it is constrained to; empty means all
  int priority = 0;                // stock has 0, this library 1
  std::string label;               // kernels with a label are chosen by name only
};

// A set of ops that share one kind of array, so that this library must serve all of them or none.
struct OpFamily {
  std::string name;
  std::vector<std::string> ops;
};

// The families that this library is made to serve.
const std::vector<OpFamily>& OpFamilies();

// The state of the process at the moment the library is loaded.
struct Surroundings {
  std::string environment_switch;         // value of TENSOR_ARRAY_GRAD, "" when unset
  std::string running_version;            // of TensorFlow; "" when unknown
  bool gpu_visible = false;               // TensorFlow can use a GPU in this process
  std::string gpu_switch;                 // value of TENSOR_ARRAY_GRAD_GPU, "" when unset
  std::string gpu_obstacle;               // why the device code cannot run on it, "" if it can
  std::vector<RegisteredKernel> kernels;  // of the ops of all families
};
Surroundings LookAround();

// Every kernel that TensorFlow has now for the ops of all families. O(kernels in the process).
std::vector<RegisteredKernel> KernelsOfFamilies();

// What this library was built as.
struct Built {
  std::string version;                    // of TensorFlow, "2.21.0"
  bool gpu_kernels = false;               // has device code and kernels for GPU
  std::vector<RegisteredKernel> kernels;  // all that it would register
};

// Decides whether to replace stock's kernels. The decision is made when the library is loaded and
// holds for the whole process: stock's kernels cannot be restored once overridden, and two kernels
// of one priority break every graph that has the op.
//
// A pure function, so that each refusal can be tested. O(kernels * ops).
Activation Decide(const Surroundings& around, const Built& built);

// The ops for which stock has a kernel for some dtype and `ours` has none, as "op on device". A
// stock kernel left in a family would get this library's arrays, so nothing is replaced if there is
// any. Looks at GPUs too if `gpu`; a kernel of stock's for DEFAULT serves a GPU as well.
std::vector<std::string> UncoveredKernels(const std::vector<RegisteredKernel>& stock,
                                          const std::vector<RegisteredKernel>& ours, bool gpu);

// This copy of the library: how it was built, and the decision made once while it was loaded.
Built ThisBuild();
const Activation& ThisActivation();

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_ACTIVATION_H_
