#include "cc/kernels/registration.h"

#include <map>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/kernel_def_builder.h"

namespace tensor_array_grad {
namespace {

// Above stock's 0: where both exist the runtime takes ours.
constexpr int kPriority = 1;

bool RegisterAll() {
  for (const KernelSpec& kernel : AllKernels()) {
    tensorflow::KernelDefBuilder def(kernel.op);
    def.Device(tensorflow::DEVICE_CPU).Priority(kPriority);
    tensorflow::kernel_factory::OpKernelRegistrar(def.Build(), kernel.op, kernel.create);
  }
  return true;
}

const bool registered = RegisterAll();

}  // namespace

Counter& KernelCalls(const std::string& op) {
  static auto* mu = new absl::Mutex;
  static auto* counters = new std::map<std::string, std::unique_ptr<Counter>>;
  absl::MutexLock lock(mu);
  std::unique_ptr<Counter>& counter = (*counters)[op];
  if (counter == nullptr) counter = std::make_unique<Counter>("kernels." + op);
  return *counter;
}

KernelTable AllKernels() {
  KernelTable all;
  for (const auto& table : {LifecycleKernels, GradKernels, AccessKernels, GatherScatterKernels,
                            ConcatSplitKernels}) {
    const KernelTable rows = table();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace tensor_array_grad
