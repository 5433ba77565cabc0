#include "cc/kernels/registration.h"

#include <utility>

#include "cc/device/cuda_kernels.h"
#include "cc/kernels/activation.h"
#include "cc/lists/list_codec.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/platform/logging.h"

namespace tensor_array_grad {
namespace {

// Above stock's 0, so that the runtime prefers this library's kernels.
constexpr int kPriority = 1;

// Registers `kernel` for CPUs and all dtypes, or for GPUs with the host memory and the dtypes of
// the row.
void Register(const KernelSpec& kernel, bool on_gpu) {
  tensorflow::KernelDefBuilder def(kernel.op);
  def.Device(on_gpu ? tensorflow::DEVICE_GPU : tensorflow::DEVICE_CPU).Priority(kPriority);
  if (on_gpu) {
    for (const char* argument : kernel.gpu_host_memory) def.HostMemory(argument);
    const GpuTypes& served = kernel.gpu_types;
    if (served.attribute != nullptr) def.TypeConstraint(served.attribute, served.types);
  }
  tensorflow::kernel_factory::OpKernelRegistrar(def.Build(), kernel.op, kernel.create);
}

// Registers the part of the table that Decide allows.
Activation RegisterAll() {
  const Activation activation = Decide(LookAround(), ThisBuild());
  if (!activation.library.active) {
    LOG(WARNING) << "tensor_array_grad is inactive: " << activation.library.reason;
    return activation;
  }
  const bool all = activation.kernels.active;
  if (!all) LOG(WARNING) << "tensor_array_grad replaces no kernels: " << activation.kernels.reason;
  for (const KernelSpec& kernel : AllKernels()) {
    if (!all && (IsStockOp(kernel.op) || kernel.needs_our_lists)) continue;
    if (kernel.on_cpu()) Register(kernel, /*on_gpu=*/false);
    if (all && cuda::Built() && kernel.on_gpu()) Register(kernel, /*on_gpu=*/true);
  }
  if (all) DecodeListsAsOurs();
  return activation;
}

// Makes the decision, and registers the kernels, while the library is loaded.
[[maybe_unused]] const Activation* const at_load = &ThisActivation();

}  // namespace

const Activation& ThisActivation() {
  static const auto* activation = new Activation(RegisterAll());
  return *activation;
}

Built ThisBuild() {
  Built built;
  built.version = TAG_TENSORFLOW_VERSION;
  built.gpu_kernels = cuda::Built();
  for (const KernelSpec& kernel : AllKernels()) {
    if (kernel.on_cpu()) {
      built.kernels.push_back({kernel.op, tensorflow::DEVICE_CPU, {}, kPriority, ""});
    }
    if (!built.gpu_kernels || !kernel.on_gpu()) continue;
    std::vector<std::string> types;
    for (const DataType type : kernel.gpu_types.types) types.push_back(DataTypeString(type));
    built.kernels.push_back({kernel.op, tensorflow::DEVICE_GPU, types, kPriority, ""});
  }
  return built;
}

GpuTypes GpuNumbers(const char* attribute, std::vector<DataType> also) {
  GpuTypes served{attribute,
                  {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16, DT_FLOAT, DT_DOUBLE,
                   tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128}};
  served.types.insert(served.types.end(), also.begin(), also.end());
  return served;
}

GpuTypes GpuElements(std::vector<DataType> also) {
  also.insert(also.end(), {DT_INT32, DT_INT64, DT_BOOL});
  return GpuNumbers("element_dtype", std::move(also));
}

KernelTable AllKernels() {
  KernelTable all;
  for (const auto& table :
       {LifecycleKernels, GradKernels, AccessKernels, BulkKernels, ListAccessKernels,
        LoopStackKernels, ListBulkKernels, ListWriteKernels, ListReadKernels, LoopKernels,
        WatchKernels, SliceSumKernels, StackKernels}) {
    const KernelTable rows = table();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace tensor_array_grad
