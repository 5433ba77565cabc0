#include "tensor_array_grad/introspection.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "cc/base/counters.h"
#include "cc/base/loop_record.h"
#include "cc/compile/loop_pass.h"
#include "cc/kernels/activation.h"
#include "cc/kernels/registration.h"
#include "cc/resource/array_resource.h"
#include "cc/rewrite/rewrite_pass.h"
#include "cc/run/interpreter.h"
#include "tensorflow/core/lib/monitoring/collection_registry.h"

namespace tensor_array_grad::introspection {
namespace {

// The file that this code was loaded from. The bindings link the op library by its name, not its
// path, so if two copies are loaded they may be linked to the other one.
std::string LoadedFrom() {
  static const char here = 0;
  Dl_info info;
  const bool found = dladdr(&here, &info) != 0 && info.dli_fname != nullptr;
  return found ? info.dli_fname : "";
}

// The value of one of TensorFlow's own counters; 0 if this process has not used it.
int64_t TensorFlowsCounter(const std::string& name) {
  namespace monitoring = tensorflow::monitoring;
  const auto collected = monitoring::CollectionRegistry::Default()->CollectMetrics({});
  const auto found = collected->point_set_map.find(name);
  int64_t total = 0;
  if (found == collected->point_set_map.end()) return total;
  for (const auto& point : found->second->points) total += point->int64_value;
  return total;
}

}  // namespace

std::vector<Loop> Loops() {
  std::vector<Loop> loops;
  for (const auto& record : AllLoops()) loops.push_back(record->Describe());
  return loops;
}

void WatchLoops(bool watch) { tensor_array_grad::WatchLoops(watch); }

void SetLocator(Locator locator) { tensor_array_grad::SetLocator(std::move(locator)); }

Decision LibraryDecision() { return ThisActivation().library; }
Decision KernelDecision() { return ThisActivation().kernels; }

std::map<std::string, int64_t> Counters() { return ReadCounters(); }

std::pair<int64_t, double> XlaCompilations() {
  const int64_t microseconds = TensorFlowsCounter("/tensorflow/core/xla_compilation_time_usecs");
  return {TensorFlowsCounter("/tensorflow/core/xla_compilations"),
          static_cast<double>(microseconds) * 1e-6};
}

int ExecutorThreads(int asked) { return tensor_array_grad::ExecutorThreads(asked); }

std::vector<Array> ExistingArrays() { return tensor_array_grad::ExistingArrays(); }

std::map<std::string, std::string> BuildFacts() {
  const Built built = ThisBuild();
  return {{"library", LoadedFrom()},
          {"tensorflow_version", built.version},
          {"cxx11_abi", absl::StrCat(_GLIBCXX_USE_CXX11_ABI)},
          {"compiler", __VERSION__},
          {"gpu_kernels", built.gpu_kernels ? "yes" : "no"}};
}

std::vector<Kernel> Kernels() { return KernelsOfFamilies(); }

std::map<std::string, std::vector<std::string>> Families() {
  std::map<std::string, std::vector<std::string>> families;
  for (const OpFamily& family : OpFamilies()) families[family.name] = family.ops;
  return families;
}

std::vector<std::string> MissingKernels() {
  const Built built = ThisBuild();
  return UncoveredKernels(KernelsOfFamilies(), built.kernels, built.gpu_kernels);
}

bool GraphPassEnabled() { return IsGraphPassEnabled(); }
void SetGraphPassEnabled(bool enabled) { tensor_array_grad::SetGraphPassEnabled(enabled); }

bool LoopsEnabled() { return AreLoopsEnabled(); }
void SetLoopsEnabled(bool enabled) { tensor_array_grad::SetLoopsEnabled(enabled); }

void SetHandBackAfter(int64_t iterations) { tensor_array_grad::SetHandBackAfter(iterations); }
void SetTrailingThreadAfter(int64_t iterations) {
  tensor_array_grad::SetTrailingThreadAfter(iterations);
}

}  // namespace tensor_array_grad::introspection
