#include "cc/kernels/activation.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cc/base/op_names.h"
#include "cc/base/switches.h"
#include "cc/device/cuda_kernels.h"
#include "tensorflow/core/framework/device_factory.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"

namespace tensor_array_grad {
namespace {

using introspection::Decision;
using introspection::Kernel;

// "2.21" of "2.21.0".
std::string Minor(const std::string& version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  return parts.size() < 2 ? version : absl::StrCat(parts[0], ".", parts[1]);
}

// The version of the TensorFlow in this process; "" if it is unknown. TF_Version is in
// libtensorflow_cc, which this library does not link. A process that runs TensorFlow from Python or
// from a C++ program has loaded that library.
std::string RunningVersion() {
  void* library = dlopen("libtensorflow_cc.so.2", RTLD_NOLOAD | RTLD_LAZY);
  void* symbol = dlsym(library != nullptr ? library : RTLD_DEFAULT, "TF_Version");
  const std::string version =
      symbol == nullptr ? "" : reinterpret_cast<const char* (*)()>(symbol)();
  if (library != nullptr) dlclose(library);
  return version;
}

// The number of GPUs that the NVIDIA driver offers; -1 if there is no driver.
int GpusOfTheDriver() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
  if (driver == nullptr) return -1;
  const auto start = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int gpus = 0;
  const bool known = start != nullptr && count != nullptr && start(0) == 0 && count(&gpus) == 0;
  return known ? gpus : 0;
}

// Whether TensorFlow has looked for GPUs before this library was loaded, so that it knows the
// answer. enable() and Load() let it look, and say so while they load the library.
bool TensorFlowHasLooked() {
  return Environment("TENSOR_ARRAY_GRAD_LOOKED") == absl::StrCat(getpid());
}

// Whether TensorFlow can use a GPU in this process. This runs while the system's loader initialises
// the library and holds its lock. If TensorFlow looked for GPUs now, it would wait for a thread
// that opens cuDNN, and that thread for the lock. The driver can be asked instead.
bool GpuVisible() {
  tensorflow::DeviceFactory* factory = tensorflow::DeviceFactory::GetFactory("GPU");
  if (factory == nullptr) return false;
  const int gpus = TensorFlowHasLooked() ? -1 : GpusOfTheDriver();
  if (gpus >= 0) return gpus > 0;
  std::vector<std::string> devices;
  return factory->ListPhysicalDevices(&devices).ok() && !devices.empty();
}

// The dtypes to which the kernel is constrained; empty if it serves all dtypes.
std::vector<std::string> TypesOf(const tensorflow::KernelDef& def) {
  std::vector<std::string> types;
  for (const auto& constraint : def.constraint()) {
    for (int type : constraint.allowed_values().list().type()) {
      types.push_back(tensorflow::DataTypeString(static_cast<tensorflow::DataType>(type)));
    }
  }
  return types;
}

// Appends every kernel that TensorFlow has now for `op`.
void AppendKernels(const std::string& op, std::vector<Kernel>* kernels) {
  const tensorflow::KernelList registered = tensorflow::GetRegisteredKernelsForOp(op);
  for (const tensorflow::KernelDef& def : registered.kernel()) {
    kernels->push_back({op, def.device_type(), TypesOf(def), def.priority(), def.label()});
  }
}

// Whether a kernel serves a GPU: it is registered for GPU or for DEFAULT.
bool ServesGpu(const Kernel& kernel) {
  return kernel.device == "GPU" || kernel.device == "DEFAULT";
}

// Whether `ours` serves all dtypes on `device` that `stock` serves.
bool Replaces(const Kernel& ours, const Kernel& stock, const std::string& device) {
  if (ours.op != stock.op || ours.device != device) return false;
  if (ours.types.empty()) return true;
  return !stock.types.empty() &&
         std::all_of(stock.types.begin(), stock.types.end(), [&](const std::string& type) {
           return absl::c_linear_search(ours.types, type);
         });
}

// Why this library replaces no kernels in a process with a visible GPU; "" if it may.
std::string GpuRefusal(const Surroundings& around, const Built& built) {
  if (!around.gpu_visible) return "";
  constexpr char kHide[] = "CUDA_VISIBLE_DEVICES='' hides the GPU";
  if (!built.gpu_kernels) {
    return absl::StrCat(
        "a GPU is visible and this build has CPU kernels only: replacing them would move arrays "
        "off the GPU, so stock kernels are kept (",
        kHide, ")");
  }
  if (!around.gpu_obstacle.empty()) {
    return absl::StrCat("a GPU is visible that the kernels of this build cannot run on: ",
                        around.gpu_obstacle, "; stock kernels are kept (", kHide, ")");
  }
  if (SaysOff(around.gpu_switch)) {
    return absl::StrCat("a GPU is visible and TENSOR_ARRAY_GRAD_GPU=", around.gpu_switch,
                        " in the environment: stock kernels are kept");
  }
  return "";
}

// A kernel that another copy of the library has registered; null if there is none.
const Kernel* OtherCopy(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    if (kernel.priority > 0 && kernel.label.empty()) return &kernel;
  }
  return nullptr;
}

}  // namespace

bool IsStockOp(const std::string& op) { return op.find('>') == std::string::npos; }

const std::vector<OpFamily>& OpFamilies() {
  static const auto* families = new std::vector<OpFamily>{
      {"TensorArrayV3",
       {ops::kTensorArrayV3, ops::kTensorArrayGradV3, ops::kTensorArrayGradWithShape,
        ops::kTensorArrayWriteV3, ops::kTensorArrayReadV3, ops::kTensorArrayGatherV3,
        ops::kTensorArrayScatterV3, ops::kTensorArrayConcatV3, ops::kTensorArraySplitV3,
        ops::kTensorArraySizeV3, ops::kTensorArrayCloseV3}},
      {"StackV2", {ops::kStackV2, ops::kStackPushV2, ops::kStackPopV2, ops::kStackCloseV2}},
      {"TensorList", {ops::kEmptyTensorList,         ops::kTensorListReserve,
                      ops::kTensorListLength,        ops::kTensorListElementShape,
                      ops::kTensorListGetItem,       ops::kTensorListSetItem,
                      ops::kTensorListResize,        ops::kTensorListPushBack,
                      ops::kTensorListPushBackBatch, ops::kTensorListPopBack,
                      ops::kTensorListStack,         ops::kTensorListFromTensor,
                      ops::kTensorListGather,        ops::kTensorListScatter,
                      ops::kTensorListScatterV2,     ops::kTensorListScatterIntoExistingList,
                      ops::kTensorListConcat,        ops::kTensorListConcatV2,
                      ops::kTensorListSplit,         ops::kTensorListConcatLists}}};
  return *families;
}

Surroundings LookAround() {
  Surroundings around;
  around.environment_switch = Environment("TENSOR_ARRAY_GRAD");
  around.kernel_switch = Environment("TENSOR_ARRAY_GRAD_KERNELS");
  around.running_version = RunningVersion();
  around.gpu_visible = GpuVisible();
  around.gpu_switch = Environment("TENSOR_ARRAY_GRAD_GPU");
  if (around.gpu_visible) around.gpu_obstacle = cuda::WhyUnusable();
  around.kernels = KernelsOfFamilies();
  AppendKernels(ops::kRunLoop, &around.kernels);  // a copy that keeps stock's has it
  return around;
}

std::vector<Kernel> KernelsOfFamilies() {
  std::vector<Kernel> kernels;
  for (const OpFamily& family : OpFamilies()) {
    for (const std::string& op : family.ops) {
      AppendKernels(op, &kernels);
    }
  }
  return kernels;
}

std::vector<std::string> UncoveredKernels(const std::vector<Kernel>& stock,
                                          const std::vector<Kernel>& ours, bool gpu) {
  std::vector<std::string> uncovered;
  for (const Kernel& kernel : stock) {
    const std::string device = ServesGpu(kernel) ? "GPU" : kernel.device;
    if (kernel.priority > 0 || !(device == "CPU" || (gpu && device == "GPU"))) continue;
    const bool replaced = std::any_of(ours.begin(), ours.end(), [&](const Kernel& candidate) {
      return Replaces(candidate, kernel, device);
    });
    const std::string name = absl::StrCat(kernel.op, " on ", device);
    if (!replaced && !absl::c_linear_search(uncovered, name)) uncovered.push_back(name);
  }
  return uncovered;
}

namespace {

Decision DecideLibrary(const Surroundings& around, const Built& built) {
  if (SaysOff(around.environment_switch)) {
    return {false, "off",
            absl::StrCat("TENSOR_ARRAY_GRAD=", around.environment_switch,
                         " in the environment: stock kernels are kept")};
  }
  if (!around.running_version.empty() && Minor(around.running_version) != Minor(built.version)) {
    return {false, "version",
            absl::StrCat("built for TensorFlow ", built.version, " but ", around.running_version,
                         " is running: stock kernels are kept")};
  }
  if (const Kernel* other = OtherCopy(around.kernels)) {
    return {false, "second copy",
            absl::StrCat("another library has already replaced ", other->op, " on ", other->device,
                         " (a second copy of tensor_array_grad?): this copy replaces nothing")};
  }
  return {true, "", ""};
}

// Requires: the library is active.
Decision DecideKernels(const Surroundings& around, const Built& built) {
  if (SaysOff(around.kernel_switch)) {
    return {false, "kernels off",
            absl::StrCat("TENSOR_ARRAY_GRAD_KERNELS=", around.kernel_switch,
                         " in the environment: stock kernels are kept")};
  }
  const std::string gpu_refusal = GpuRefusal(around, built);
  if (!gpu_refusal.empty()) return {false, "gpu", gpu_refusal};
  const std::vector<std::string> uncovered =
      UncoveredKernels(around.kernels, built.kernels, around.gpu_visible);
  if (!uncovered.empty()) {
    return {false, "missing kernel",
            absl::StrCat("this build lacks kernels for ", absl::StrJoin(uncovered, ", "),
                         ": all ops of a family are replaced or none")};
  }
  const auto replaced = std::count_if(
      built.kernels.begin(), built.kernels.end(),
      [](const Kernel& kernel) { return kernel.device == "CPU" && IsStockOp(kernel.op); });
  return {true, "", absl::StrCat("replaced ", replaced, " ops")};
}

}  // namespace

Activation Decide(const Surroundings& around, const Built& built) {
  Activation activation;
  activation.library = DecideLibrary(around, built);
  activation.kernels =
      activation.library.active ? DecideKernels(around, built) : activation.library;
  if (activation.kernels.cause == "missing kernel") activation.library = activation.kernels;
  return activation;
}

}  // namespace tensor_array_grad
