#ifndef CC_KERNELS_ACTIVATION_H_
#define CC_KERNELS_ACTIVATION_H_

#include <string>
#include <vector>

#include "tensor_array_grad/records.h"

namespace tensor_array_grad {

// Which parts of this copy of the library are active, and why or why not. The kernels of the
// library's own ops are registered if the library is active; the graph pass and loops in one kernel
// need no others. Kernels for stock's ops replace stock's only if `kernels` is active as well.
struct Activation {
  introspection::Decision library;  // causes: "off", "version", "second copy" or "missing kernel"
  introspection::Decision kernels;  // causes: those of the library, "kernels off" or "gpu"
};

// A set of ops that share one kind of array, so that this library must replace the kernels of all
// of them or of none.
struct OpFamily {
  std::string name;
  std::vector<std::string> ops;
};

// Whether `op` is one of TensorFlow's. The library's own ops have a name with a namespace, such as
// "TensorArrayGrad>ListAccumulate".
bool IsStockOp(const std::string& op);

// The families of this library.
const std::vector<OpFamily>& OpFamilies();

// The state of the process at the moment the library is loaded.
struct Surroundings {
  std::string environment_switch;              // value of TENSOR_ARRAY_GRAD, "" when unset
  std::string kernel_switch;                   // value of TENSOR_ARRAY_GRAD_KERNELS, "" when unset
  std::string running_version;                 // of TensorFlow; "" when unknown
  bool gpu_visible = false;                    // TensorFlow can use a GPU in this process
  std::string gpu_switch;                      // value of TENSOR_ARRAY_GRAD_GPU, "" when unset
  std::string gpu_obstacle;                    // why the device code cannot run on the GPU, or ""
  std::vector<introspection::Kernel> kernels;  // of the ops of all families, and of RunLoop
};
// Reads the state of the process.
Surroundings LookAround();

// Every kernel that TensorFlow has now for the ops of all families. O(kernels in the process).
std::vector<introspection::Kernel> KernelsOfFamilies();

// How this library was built.
struct Built {
  std::string version;                         // of TensorFlow, "2.21.0"
  bool gpu_kernels = false;                    // whether it has device code and kernels for GPU
  std::vector<introspection::Kernel> kernels;  // all kernels that it would register
};

// Decides what is active. The decision is made when the library is loaded and holds until the
// process ends: stock's kernels cannot be restored after they were overridden, and two kernels of
// one priority break every graph that has the op.
//
// This is a pure function, so that each refusal can be tested. O(k^2) for k kernels.
Activation Decide(const Surroundings& around, const Built& built);

// The uncovered kernels, as "op on device", each once: stock has a kernel for the op and device,
// and no kernel in `ours` serves all of its dtypes. A stock kernel that remained in a family would
// get this library's arrays, so nothing is replaced if there is an uncovered kernel. Kernels for
// GPUs count only if `gpu`. A stock kernel for DEFAULT counts as one for a GPU.
std::vector<std::string> UncoveredKernels(const std::vector<introspection::Kernel>& stock,
                                          const std::vector<introspection::Kernel>& ours, bool gpu);

// How this copy of the library was built, and the decision that was made once while it was loaded.
Built ThisBuild();
const Activation& ThisActivation();

}  // namespace tensor_array_grad

#endif  // CC_KERNELS_ACTIVATION_H_
