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
#include "tensorflow/core/framework/types.h"
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

Loop Described(const LoopFacts& facts) {
  const auto names = [](const ProgramOp& of) { return std::pair(of.function, of.node); };
  Loop loop;
  loop.id = facts.id;
  loop.outer = facts.outer;
  loop.name = facts.name;
  loop.body = names(facts.body);
  loop.condition = names(facts.condition);
  loop.cause = names(facts.cause);
  loop.python = names(facts.python);
  loop.heaviest = names(facts.heaviest);
  loop.heaviest_type = facts.heaviest_type;
  loop.heaviest_share = facts.heaviest_share;
  loop.is_watched = facts.is_watched;
  loop.left = facts.left;
  loop.trace = facts.trace;
  for (const LoopFacts::Note& note : facts.notes) {
    loop.notes.push_back({note.rule, note.text, names(note.node)});
  }
  return loop;
}

}  // namespace

std::vector<Loop> Loops() {
  std::vector<Loop> loops;
  for (const auto& record : AllLoops()) {
    Loop loop = Described(record->facts());
    const LoopCounts& counts = record->counts;
    loop.runs = counts.runs;
    loop.iterations = counts.iterations;
    loop.seconds = static_cast<double>(counts.ns) * 1e-9;
    loop.two_threads = counts.two_threads;
    loop.handed_back = counts.handed_back;
    loop.passed_on = counts.passed_on;
    loop.passed_by = counts.passed_by;
    loop.gain = counts.gain;
    loop.executor_runs = counts.executor_runs;
    loop.executor_iterations = counts.conditions - loop.executor_runs;
    loop.executor_seconds = static_cast<double>(counts.executor_ns) * 1e-9;
    loops.push_back(std::move(loop));
  }
  return loops;
}

void WatchLoops(bool watch) { tensor_array_grad::WatchLoops(watch); }

void SetLocator(Locator locator) {
  if (!locator) return tensor_array_grad::SetLocator(nullptr);
  tensor_array_grad::SetLocator(
      [locator = std::move(locator)](const LoopFacts& facts) { return locator(Described(facts)); });
}

Decision LibraryDecision() {
  const Activation::Part& library = ThisActivation().library;
  return {library.active, library.cause, library.reason};
}

Decision KernelDecision() {
  const Activation::Part& kernels = ThisActivation().kernels;
  return {kernels.active, kernels.cause, kernels.reason};
}

std::map<std::string, int64_t> Counters() { return ReadCounters(); }

std::pair<int64_t, double> XlaCompilations() {
  const int64_t microseconds = TensorFlowsCounter("/tensorflow/core/xla_compilation_time_usecs");
  return {TensorFlowsCounter("/tensorflow/core/xla_compilations"),
          static_cast<double>(microseconds) * 1e-6};
}

int ExecutorThreads(int asked) { return tensor_array_grad::ExecutorThreads(asked); }

std::vector<Array> ExistingArrays() {
  std::vector<Array> arrays;
  for (const ArrayDescription& array : tensor_array_grad::ExistingArrays()) {
    arrays.push_back({array.name, tensorflow::DataTypeString(array.dtype), array.size, array.bytes,
                      array.is_gradient, array.gradients});
  }
  return arrays;
}

std::map<std::string, std::string> BuildFacts() {
  const Built built = ThisBuild();
  return {{"library", LoadedFrom()},
          {"tensorflow_version", built.version},
          {"cxx11_abi", absl::StrCat(_GLIBCXX_USE_CXX11_ABI)},
          {"compiler", __VERSION__},
          {"gpu_kernels", built.gpu_kernels ? "yes" : "no"}};
}

std::vector<Kernel> Kernels() {
  std::vector<Kernel> kernels;
  for (const RegisteredKernel& kernel : KernelsOfFamilies()) {
    kernels.push_back({kernel.op, kernel.device, kernel.types, kernel.priority});
  }
  return kernels;
}

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
