#include "tensor_array_grad/load.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/const_init.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "cc/api/build_record.h"
#include "cc/bind/entry_points.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/core/framework/device_factory.h"
#include "tensorflow/core/platform/logging.h"

namespace tensor_array_grad {
namespace {

using introspection::Decision;

// Functions of the opened library; null until it is open.
std::atomic<decltype(&tensor_array_grad_activation)> ask_activation{nullptr};
std::atomic<decltype(&tensor_array_grad_counters)> ask_counters{nullptr};

bool SwitchedOff() {
  const char* value = getenv("TENSOR_ARRAY_GRAD");
  const std::string lower = absl::AsciiStrToLower(value == nullptr ? "" : value);
  return lower == "off" || lower == "0" || lower == "false";
}

// `path` without symbolic links, as the system lists it once it is loaded.
std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  return real == nullptr ? path : real.get();
}

absl::Status CheckOnlyCopy(const std::string& path) {
  std::ifstream stream("/proc/self/maps");
  const std::string maps{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  for (const std::string& other : MappedLibraries(maps)) {
    if (other == path) continue;
    if (IsDeleted(other)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "tensor_array_grad: ", path, " was removed or replaced while this process uses it (",
          other, "). Restart the process to use the new library."));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "tensor_array_grad: a second copy, ", other, ", is already loaded (running TensorFlow ",
        TF_Version(), "), and two copies of one kernel break every graph: ", path,
        " is not used. Load one of them only; to leave one installed: "
        "pip uninstall tensor_array_grad"));
  }
  return absl::OkStatus();
}

absl::Status CheckBeforeOpening(const std::string& path, BuildRecord* built) {
  absl::Status status = ReadBuildRecord(path, TF_Version(), built);
  if (status.ok()) status = CheckFit(*built, TF_Version(), _GLIBCXX_USE_CXX11_ABI, path);
  return status.ok() ? CheckOnlyCopy(path) : status;
}

// Lets TensorFlow look for GPUs, which starts CUDA. It cannot do that while a library is being
// loaded, so the environment tells the library that it has been done (cc/kernels/activation.cc).
TF_Library* LookForGpusAndOpen(const std::string& path, TF_Status* status) {
  constexpr char kLooked[] = "TENSOR_ARRAY_GRAD_LOOKED";
  std::vector<std::string> devices;
  tensorflow::DeviceFactory* const factory = tensorflow::DeviceFactory::GetFactory("GPU");
  if (factory != nullptr) factory->ListPhysicalDevices(&devices).IgnoreError();
  setenv(kLooked, absl::StrCat(getpid()).c_str(), /*overwrite=*/1);
  TF_Library* const library = TF_LoadLibrary(path.c_str(), status);
  unsetenv(kLooked);
  return library;
}

absl::Status Open(const std::string& path, const BuildRecord& built) {
  const std::unique_ptr<TF_Status, void (*)(TF_Status*)> status(TF_NewStatus(), TF_DeleteStatus);
  TF_Library* const library = LookForGpusAndOpen(path, status.get());
  if (library != nullptr) TF_DeleteLibraryHandle(library);  // this does not unload it
  std::string reason = TF_Message(status.get());
  absl::StatusCode code = static_cast<absl::StatusCode>(TF_GetCode(status.get()));
  if (code == absl::StatusCode::kOk) {
    void* const opened = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    ask_activation = reinterpret_cast<decltype(&tensor_array_grad_activation)>(
        dlsym(opened, "tensor_array_grad_activation"));
    ask_counters = reinterpret_cast<decltype(&tensor_array_grad_counters)>(
        dlsym(opened, "tensor_array_grad_counters"));
    if (ask_activation != nullptr && ask_counters != nullptr) return absl::OkStatus();
    code = absl::StatusCode::kFailedPrecondition;
    reason = "it is another version of the library";
  }
  return absl::Status(code, absl::StrCat("tensor_array_grad: ", path, ", built for TensorFlow ",
                                         built.tensorflow, ", could not be loaded into TensorFlow ",
                                         TF_Version(), ". ", HowToReinstall(), " (", reason, ")"));
}

// The status that Load() returns for what the library decided while it was opened.
absl::Status Outcome(const std::string& path) {
  Decision decision;
  ask_activation.load()(&decision);
  // In the last cases the library has logged the reason itself.
  for (const char* cause : {"", "off", "kernels off", "gpu"}) {
    if (decision.cause == cause) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("tensor_array_grad: ", path, ": ", decision.reason));
}

}  // namespace

absl::Status Load(const std::string& path) {
  static absl::Mutex mu(absl::kConstInit);
  absl::MutexLock lock(&mu);
  if (SwitchedOff()) {
    LOG(WARNING) << "tensor_array_grad is inactive: TENSOR_ARRAY_GRAD=off in the environment: "
                    "stock kernels are kept";
    return absl::OkStatus();
  }
  static auto* const opened = new std::string;
  const std::string real = RealPath(path);
  if (ask_activation != nullptr && real == *opened) return Outcome(real);  // also if it is replaced
  BuildRecord built;
  absl::Status status = CheckBeforeOpening(real, &built);
  if (status.ok()) status = Open(real, built);
  if (status.ok()) *opened = real;
  return status.ok() ? Outcome(real) : status;
}

bool IsEnabled() {
  const auto ask = ask_activation.load();
  if (ask == nullptr) return false;
  Decision decision;
  ask(&decision);
  return decision.active;
}

std::map<std::string, int64_t> Counters() {
  std::map<std::string, int64_t> counters;
  const auto ask = ask_counters.load();
  if (ask != nullptr) ask(&counters);
  return counters;
}

}  // namespace tensor_array_grad
