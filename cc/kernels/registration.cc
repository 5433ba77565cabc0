#include "cc/kernels/registration.h"

#include <map>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "cc/kernels/activation.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/platform/logging.h"

namespace tensor_array_grad {
namespace {

// Above stock's 0: where both exist the runtime takes ours.
constexpr int kPriority = 1;

// Registers the whole table, or nothing where that would break the process.
Activation RegisterAll() {
  const Activation activation = Decide(LookAround(), ThisBuild());
  if (!activation.active) {
    LOG(WARNING) << "tensor_array_grad is inactive: " << activation.reason;
    return activation;
  }
  for (const KernelSpec& kernel : AllKernels()) {
    tensorflow::KernelDefBuilder def(kernel.op);
    def.Device(tensorflow::DEVICE_CPU).Priority(kPriority);
    tensorflow::kernel_factory::OpKernelRegistrar(def.Build(), kernel.op, kernel.create);
  }
  return activation;
}

[[maybe_unused]] const Activation* const at_load = &ThisActivation();

}  // namespace

Counter& KernelCalls(const std::string& op) {
  static auto* mu = new absl::Mutex;
  static auto* counters = new std::map<std::string, std::unique_ptr<Counter>>;
  absl::MutexLock lock(mu);
  std::unique_ptr<Counter>& counter = (*counters)[op];
  if (counter == nullptr) counter = std::make_unique<Counter>("kernels." + op);
  return *counter;
}

const Activation& ThisActivation() {
  static const auto* activation = new Activation(RegisterAll());
  return *activation;
}

Built ThisBuild() {
  Built built;
  built.version = TAG_TENSORFLOW_VERSION;
  for (const KernelSpec& kernel : AllKernels()) built.ops.push_back(kernel.op);
  return built;
}

KernelTable AllKernels() {
  KernelTable all;
  for (const auto& table :
       {LifecycleKernels, GradKernels, AccessKernels, GatherScatterKernels, ConcatSplitKernels,
        ListAccessKernels, ListBulkKernels, ListScatterKernels, ListConcatKernels}) {
    const KernelTable rows = table();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace tensor_array_grad
