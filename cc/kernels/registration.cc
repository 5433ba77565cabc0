#include "cc/kernels/registration.h"

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

KernelTable AllKernels() {
  KernelTable all;
  return all;
}

}  // namespace tensor_array_grad
