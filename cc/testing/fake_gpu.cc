// A device "GPU" for a TensorFlow without one, to run this library's GPU kernels on the host with
// emulated device code (fake_cuda). Loading it into a process adds one GPU and registers nothing
// else.
//
// Only the emulated device, and TensorFlow's copies to and from it, can access the device's memory:
// a kernel that reads a value itself would read garbage on a GPU, and here it ends the process. The
// device has one stream, on which work is done at once, so errors in the order of work on a real
// stream do not show. The classes are those of one TensorFlow release; see CMakeLists.txt.

#include <cuda_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "tensorflow/core/common_runtime/copy_tensor.h"
#include "tensorflow/core/common_runtime/device_factory.h"
#include "tensorflow/core/common_runtime/local_device.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"
#include "tensorflow/core/platform/logging.h"
#include "tensorflow/core/public/session_options.h"
#include "xla/stream_executor/event.h"
#include "xla/stream_executor/stream.h"

namespace tensor_array_grad {
namespace {

namespace se = stream_executor;
using tensorflow::AllocatorAttributes;
using tensorflow::Device;

// Memory that cannot be read or written except while the emulated device works.
class DeviceMemory : public tensorflow::Allocator {
 public:
  static DeviceMemory& Get() {
    static auto* const memory = new DeviceMemory;
    return *memory;
  }

  std::string Name() override { return "fake_gpu"; }

  void* AllocateRaw(size_t, size_t bytes) override {
    size_t size = 256;
    while (size < bytes) size *= 2;
    absl::MutexLock lock(&mu_);
    std::vector<char*>& free = free_[size];
    char* room = next_;
    if (!free.empty()) {
      room = free.back();
      free.pop_back();
    } else if (next_ + size > begin_ + kBytes) {
      return nullptr;
    } else {
      next_ += size;
    }
    sizes_[room] = size;
    in_use_ += static_cast<int64_t>(size);
    return room;
  }

  void DeallocateRaw(void* pointer) override {
    absl::MutexLock lock(&mu_);
    const size_t size = sizes_[pointer];
    in_use_ -= static_cast<int64_t>(size);
    free_[size].push_back(static_cast<char*>(pointer));
    ReturnPages(static_cast<char*>(pointer), size);
  }

  std::optional<tensorflow::AllocatorStats> GetStats() override {
    absl::MutexLock lock(&mu_);
    tensorflow::AllocatorStats stats;
    stats.bytes_in_use = in_use_;
    stats.bytes_limit = kBytes;
    return stats;
  }

  tensorflow::AllocatorMemoryType GetMemoryType() const override {
    return tensorflow::AllocatorMemoryType::kDevice;
  }

  // Counts accesses: true begins one, false ends one. The memory is open while there is an access.
  void Touch(bool begins) {
    absl::MutexLock lock(&mu_);
    touching_ += begins ? 1 : -1;
    if (touching_ == (begins ? 1 : 0)) {
      CHECK_EQ(mprotect(begin_, kBytes, begins ? PROT_READ | PROT_WRITE : PROT_NONE), 0);
    }
  }

 private:
  static constexpr size_t kBytes = size_t{1} << 30;

  DeviceMemory() {
    void* const memory =
        mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK_NE(memory, MAP_FAILED);
    begin_ = next_ = static_cast<char*>(memory);
    fake_cuda_touches = [](bool begins) { Get().Touch(begins); };
  }

  // Gives the whole pages of a block back to the system. The time of Touch() grows with the pages
  // in use: with 800 MB it is 25 ms.
  static void ReturnPages(char* block, size_t size) {
    const auto page = static_cast<size_t>(getpagesize());
    const size_t before = (page - reinterpret_cast<uintptr_t>(block) % page) % page;
    const size_t pages = size < before ? 0 : (size - before) / page;
    if (pages > 0) CHECK_EQ(madvise(block + before, pages * page, MADV_DONTNEED), 0);
  }

  absl::Mutex mu_;
  char* begin_;
  char* next_;
  int touching_ = 0;
  int64_t in_use_ = 0;
  std::map<void*, size_t> sizes_;
  std::map<size_t, std::vector<char*>> free_;
};

// Kernels only ask a stream for its handle; nothing else is called.
class FakeStream : public se::Stream {
 public:
  PlatformSpecificHandle platform_specific_handle() const override { return {}; }
  bool ok() const override { return true; }
  absl::StatusOr<Stream*> GetOrCreateSubStream() override { return Missing(); }
  void ReturnSubStream(Stream*) override {}
  absl::Status WaitFor(Stream*) override { return absl::OkStatus(); }
  absl::Status WaitFor(se::Event*) override { return absl::OkStatus(); }
  absl::Status RecordEvent(se::Event*) override { return absl::OkStatus(); }
  absl::Status Memcpy(void*, const se::DeviceAddressBase&, uint64_t) override { return Missing(); }
  absl::Status Memcpy(se::DeviceAddressBase*, const void*, uint64_t) override { return Missing(); }
  absl::Status BlockHostUntilDone() override { return absl::OkStatus(); }
  absl::Status DoHostCallbackWithStatus(absl::AnyInvocable<absl::Status() &&>) override {
    return Missing();
  }
  se::StreamExecutor* parent() const override { return nullptr; }
  se::CudaComputeCapability GetCudaComputeCapability() const override { return {}; }
  se::RocmComputeCapability GetRocmComputeCapability() const override { return {}; }
  se::OneAPIComputeCapability GetOneAPIComputeCapability() const override { return {}; }
  std::variant<se::StreamPriority, int> priority() const override { return 0; }
  const std::string& GetName() const override { return name_; }
  void SetName(std::string name) override { name_ = std::move(name); }

 private:
  static absl::Status Missing() { return absl::UnimplementedError("not on a fake GPU"); }
  std::string name_;
};

class FakeContext : public tensorflow::DeviceContext {
 public:
  se::Stream* stream() const override {
    static auto* const stream = new FakeStream;
    return stream;
  }
  void CopyCPUTensorToDevice(const Tensor* from, Device*, Tensor* to,
                             tensorflow::StatusCallback done, bool) const override {
    Copy(*from, to, done);
  }
  void CopyDeviceTensorToCPU(const Tensor* from, absl::string_view, Device*, Tensor* to,
                             tensorflow::StatusCallback done) override {
    Copy(*from, to, done);
  }
  void CopyTensorInSameDevice(const Tensor* from, Device*, Tensor* to,
                              tensorflow::StatusCallback done) const override {
    Copy(*from, to, done);
  }

 private:
  static void Copy(const Tensor& from, Tensor* to, const tensorflow::StatusCallback& done) {
    cudaMemcpy(to->data(), from.data(), from.TotalBytes(), cudaMemcpyHostToDevice);
    done(absl::OkStatus());
  }
};

class FakeGpu : public tensorflow::LocalDevice {
 public:
  FakeGpu(const tensorflow::SessionOptions& options, const std::string& name)
      : LocalDevice(options, BuildDeviceAttributes(name, tensorflow::DEVICE_GPU,
                                                   tensorflow::Bytes(1 << 30), {}, "fake")) {
    info_.stream = context_->stream();
    info_.default_context = context_;
    info_.gpu_id = 0;
    set_tensorflow_accelerator_device_info(&info_);
  }

  tensorflow::Allocator* GetAllocator(AllocatorAttributes attributes) override {
    if (attributes.on_host()) return tensorflow::cpu_allocator();
    return &DeviceMemory::Get();
  }
  absl::Status TryGetDeviceContext(tensorflow::DeviceContext** context) override {
    context_->Ref();
    *context = context_;
    return absl::OkStatus();
  }
  absl::Status MakeTensorFromProto(const tensorflow::TensorProto& proto,
                                   const AllocatorAttributes attributes, Tensor* tensor) override {
    Tensor host(proto.dtype());
    if (!host.FromProto(tensorflow::cpu_allocator(), proto)) {
      return absl::InvalidArgumentError("a tensor proto that cannot be parsed");
    }
    if (attributes.on_host()) {
      *tensor = host;
      return absl::OkStatus();
    }
    return ToDevice(host, tensor);
  }
  absl::Status Sync() override { return absl::OkStatus(); }
  void Compute(tensorflow::OpKernel* kernel, tensorflow::OpKernelContext* context) override {
    CounterNamed("fake_gpu." + kernel->type_string()).Add();
    LocalDevice::Compute(kernel, context);
  }

 private:
  // Variants stay on the host, but the tensors in them are copied to the device, as on a GPU.
  absl::Status ToDevice(const Tensor& from, Tensor* to) {
    if (from.dtype() != tensorflow::DT_VARIANT) {
      *to = Tensor(&DeviceMemory::Get(), from.dtype(), from.shape());
      return context_->CopyCPUTensorToDeviceSync(&from, this, to);
    }
    *to = Tensor(tensorflow::DT_VARIANT, from.shape());
    for (int64_t i = 0; i < from.NumElements(); ++i) {
      TF_RETURN_IF_ERROR(tensorflow::VariantDeviceCopy(
          tensorflow::HOST_TO_DEVICE, from.flat<tensorflow::Variant>()(i),
          &to->flat<tensorflow::Variant>()(i),
          [this](const Tensor& one, Tensor* copied) { return ToDevice(one, copied); }));
    }
    return absl::OkStatus();
  }

  FakeContext* const context_ = new FakeContext;
  AcceleratorDeviceInfo info_;
};

class FakeGpuFactory : public tensorflow::DeviceFactory {
 public:
  absl::Status ListPhysicalDevices(std::vector<std::string>* devices) override {
    if (!Hidden()) devices->push_back("/physical_device:GPU:0");
    return absl::OkStatus();
  }
  absl::Status GetDeviceDetails(int,
                                std::unordered_map<std::string, std::string>* details) override {
    details->emplace("device_name", "emulated");
    return absl::OkStatus();
  }
  absl::Status CreateDevices(const tensorflow::SessionOptions& options, const std::string& prefix,
                             std::vector<std::unique_ptr<Device>>* devices) override {
    const auto& counts = options.config.device_count();
    const auto wanted = counts.find("GPU");
    if (Hidden() || (wanted != counts.end() && wanted->second == 0)) return absl::OkStatus();
    devices->push_back(std::make_unique<FakeGpu>(options, prefix + "/device:GPU:0"));
    return absl::OkStatus();
  }

 private:
  // Whether CUDA_VISIBLE_DEVICES hides the GPU, as it would hide a real one.
  static bool Hidden() {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible != nullptr && (*visible == '\0' || std::string(visible) == "-1");
  }
};

// The copy function that TensorFlow calls, also with the dead tensors at the end of a loop, which
// have no buffer.
void CopyOnDevice(tensorflow::DeviceContext* context, tensorflow::DeviceContext*, Device* device,
                  Device*, AllocatorAttributes, AllocatorAttributes, const Tensor* from, Tensor* to,
                  int, tensorflow::StatusCallback done) {
  context->CopyTensorInSameDevice(from, device, to, std::move(done));
}

// Registers the device as that of a plugin. For any other GPU, TensorFlow would give its own copy
// function the stream, which is not a real one.
bool Register() {
  const tensorflow::DeviceType gpu(tensorflow::DEVICE_GPU);
  tensorflow::DeviceFactory::Register(gpu.type_string(), std::make_unique<FakeGpuFactory>(),
                                      /*priority=*/210, /*is_pluggable_device=*/true);
  return tensorflow::CopyTensor::Register(gpu, gpu, CopyOnDevice, /*is_pluggable_device=*/true)
      .ok();
}

[[maybe_unused]] const bool at_load = Register();

}  // namespace
}  // namespace tensor_array_grad
