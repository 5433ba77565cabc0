#include "cc/run/pooled_device.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "cc/base/block_pool.h"
#include "cc/base/tensorflow_names.h"
#include "cc/run/buffer_cache.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Allocator;
using tensorflow::AllocatorAttributes;
using tensorflow::Device;
using tensorflow::DeviceBase;

// Takes a buffer from the pool if the pool has blocks of its size, and from the cache if not. On
// deallocation the address of a buffer shows to which of the two it belongs.
class LoopBuffers final : public Allocator {
 public:
  explicit LoopBuffers(Allocator* underlying) : underlying_(underlying), cache_(underlying) {}

  Allocator* underlying() const { return underlying_; }
  BufferCache& cache() { return cache_; }

  std::string Name() override { return underlying_->Name(); }

  void* AllocateRaw(size_t alignment, size_t bytes) override {
    return AllocateRaw(alignment, bytes, tensorflow::AllocationAttributes());
  }
  void* AllocateRaw(size_t alignment, size_t bytes,
                    const tensorflow::AllocationAttributes& attributes) override {
    void* const block = alignment <= kAllocatorAlignment ? TakePooledBlock(bytes) : nullptr;
    return block != nullptr ? block : cache_.Allocate(alignment, bytes, attributes);
  }
  void DeallocateRaw(void* buffer) override {
    IsPooled(buffer) ? FreeBlock(buffer) : cache_.Free(buffer);
  }
  std::optional<tensorflow::AllocatorStats> GetStats() override { return underlying_->GetStats(); }
  bool ClearStats() override { return underlying_->ClearStats(); }
  tensorflow::AllocatorMemoryType GetMemoryType() const override {
    return underlying_->GetMemoryType();
  }

 private:
  Allocator* const underlying_;
  BufferCache cache_;
};

// A device that differs from `underlying` only in its allocator. Every other method that kernels
// use calls that of `underlying`, as TensorFlow's RenamedDevice does.
class PooledDevice final : public Device {
 public:
  explicit PooledDevice(Device* underlying)
      : Device(underlying->env(), underlying->attributes()),
        underlying_(underlying),
        allocator_(PooledAllocator(underlying->GetAllocator(AllocatorAttributes()))) {}

  Allocator* GetAllocator(AllocatorAttributes attributes) override {
    // Memory that a GPU or a network card reads comes from special allocators.
    const bool ordinary = !attributes.gpu_compatible() && !attributes.nic_compatible();
    return ordinary ? allocator_ : underlying_->GetAllocator(attributes);
  }

  const DeviceBase* UnderlyingDevice() const override { return underlying_->UnderlyingDevice(); }
  DeviceBase* UnderlyingDevice() override { return underlying_->UnderlyingDevice(); }
  const CpuWorkerThreads* tensorflow_cpu_worker_threads() const override {
    return underlying_->tensorflow_cpu_worker_threads();
  }
  Allocator* GetScopedAllocator(AllocatorAttributes attributes, int64_t step_id) override {
    return underlying_->GetScopedAllocator(attributes, step_id);
  }
  tensorflow::ScopedAllocatorMgr* GetScopedAllocatorMgr() const override {
    return underlying_->GetScopedAllocatorMgr();
  }
  const Eigen::ThreadPoolDevice* eigen_cpu_device() override {
    return underlying_->eigen_cpu_device();
  }
  tensorflow::thread::ThreadPool* tensorflow_device_thread_pool() override {
    return underlying_->tensorflow_device_thread_pool();
  }
  bool has_eigen_cpu_device() const override { return underlying_->has_eigen_cpu_device(); }
  absl::Status MakeTensorFromProto(const tensorflow::TensorProto& proto,
                                   const AllocatorAttributes attributes, Tensor* tensor) override {
    return underlying_->MakeTensorFromProto(proto, attributes, tensor);
  }
  void CopyTensorInSameDevice(const Tensor* from, Tensor* to,
                              const tensorflow::DeviceContext* context,
                              tensorflow::StatusCallback done) override {
    underlying_->CopyTensorInSameDevice(from, to, context, std::move(done));
  }
  absl::Status Sync() override { return underlying_->Sync(); }
  tensorflow::ResourceMgr* resource_manager() override { return underlying_->resource_manager(); }
  bool IsLocal() const override { return underlying_->IsLocal(); }
  bool IsRemoteCallAllowed() const override { return underlying_->IsRemoteCallAllowed(); }

 private:
  Device* const underlying_;
  Allocator* const allocator_;
};

}  // namespace

Allocator* PooledAllocator(Allocator* underlying) {
  static auto* const only = new LoopBuffers(underlying);
  return only->underlying() == underlying ? only : underlying;
}

std::unique_ptr<Device> NewPooledDevice(DeviceBase* underlying) {
  auto* const device = dynamic_cast<Device*>(underlying);
  if (device == nullptr || device->device_type() != tensorflow::DEVICE_CPU) return nullptr;
  return std::make_unique<PooledDevice>(device);
}

bool GiveBackFreeBuffers(Device* pooled) {
  if (pooled == nullptr) return false;
  auto* const buffers = dynamic_cast<LoopBuffers*>(pooled->GetAllocator(AllocatorAttributes()));
  return buffers != nullptr && buffers->cache().GiveBackAll();
}

}  // namespace tensor_array_grad
