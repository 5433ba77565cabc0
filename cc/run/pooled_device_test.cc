#include "cc/run/pooled_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "cc/base/block_pool.h"
#include "cc/base/tensorflow_names.h"
#include "cc/testing/loop_runner.h"

namespace tensor_array_grad {
namespace {

using tensorflow::Allocator;

// An allocator that does not belong to the CPU.
class OtherAllocator : public Allocator {
 public:
  std::string Name() override { return "other"; }
  void* AllocateRaw(size_t, size_t) override { return nullptr; }
  void DeallocateRaw(void*) override {}
};

class PooledDeviceTest : public testing::Test {
 protected:
  PooledDeviceTest() : device_(NewPooledDevice(&cpu_)) {}

  Allocator* allocator() { return device_->GetAllocator(tensorflow::AllocatorAttributes()); }

  CpuUnderTest cpu_;
  std::unique_ptr<tensorflow::Device> device_;
};

TEST_F(PooledDeviceTest, SmallTensorsComeFromThePool) {
  for (const int64_t n : {1, 16, 1040}) {
    const Tensor tensor(allocator(), tensorflow::DT_FLOAT, TensorShape({n}));
    EXPECT_EQ(IsPooled(tensor.data()), kPools) << n;
    EXPECT_TRUE(tensor.IsAligned());
  }
}

TEST_F(PooledDeviceTest, LargerTensorsDoNotComeFromThePool) {
  const Tensor tensor(allocator(), tensorflow::DT_FLOAT, TensorShape({1041}));
  EXPECT_FALSE(IsPooled(tensor.data()));
  std::memset(tensor.data(), 1, tensor.TotalBytes());
}

// The cache reuses first the buffer that was freed last. The C library would merge free neighbours.
TEST_F(PooledDeviceTest, LargerBuffersAreKeptInTheCache) {
  if (!kPools) GTEST_SKIP() << "AddressSanitizer keeps freed buffers apart";
  constexpr size_t kBytes = 100'000;
  std::vector<void*> freed(20), taken(20);
  for (void*& buffer : freed) buffer = allocator()->AllocateRaw(64, kBytes);
  for (void* buffer : freed) allocator()->DeallocateRaw(buffer);
  for (void*& buffer : taken) buffer = allocator()->AllocateRaw(64, kBytes);
  EXPECT_TRUE(std::equal(freed.begin(), freed.end(), taken.rbegin()));
  for (void* buffer : taken) allocator()->DeallocateRaw(buffer);
}

TEST_F(PooledDeviceTest, FreeBuffersAreGivenBack) {
  if (!kPools) GTEST_SKIP() << "AddressSanitizer keeps freed buffers apart";
  GiveBackFreeBuffers(device_.get());  // those of earlier tests
  allocator()->DeallocateRaw(allocator()->AllocateRaw(64, 100'000));
  EXPECT_TRUE(GiveBackFreeBuffers(device_.get()));
  EXPECT_FALSE(GiveBackFreeBuffers(device_.get()));
  EXPECT_FALSE(GiveBackFreeBuffers(nullptr));
}

TEST_F(PooledDeviceTest, SmallAndLargeBuffersAreAllocatedWithoutAttributesToo) {
  for (const size_t bytes : {size_t{64}, 2 * kMostPooledBytes}) {
    void* const buffer = allocator()->AllocateRaw(64, bytes);
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(IsPooled(buffer), kPools && bytes == 64);
    std::memset(buffer, 1, bytes);
    allocator()->DeallocateRaw(buffer);
  }
}

TEST_F(PooledDeviceTest, StringsAreConstructedAndDestroyed) {
  Tensor tensor(allocator(), tensorflow::DT_STRING, TensorShape({3}));
  tensor.flat<tensorflow::tstring>()(2) = std::string(1000, 'x');
  EXPECT_EQ(tensor.flat<tensorflow::tstring>()(0), "");
}

TEST_F(PooledDeviceTest, TensorsOutliveTheDevice) {
  Tensor tensor(allocator(), tensorflow::DT_INT32, TensorShape({2}));
  tensor.flat<int>().setConstant(7);
  device_.reset();
  EXPECT_EQ(tensor.flat<int>()(1), 7);
}

TEST_F(PooledDeviceTest, OtherAllocatorsAreNotWrapped) {
  allocator();  // the first call decides which allocator is wrapped
  OtherAllocator other;
  EXPECT_EQ(PooledAllocator(&other), &other);
  EXPECT_EQ(PooledAllocator(tensorflow::cpu_allocator()), allocator());
}

TEST_F(PooledDeviceTest, MemoryForOtherDevicesComesFromTheDevicesAllocators) {
  tensorflow::AllocatorAttributes for_gpu, for_network;
  for_gpu.set_gpu_compatible(true);
  for_network.set_nic_compatible(true);
  EXPECT_EQ(device_->GetAllocator(for_gpu), cpu_.GetAllocator(for_gpu));
  EXPECT_EQ(device_->GetAllocator(for_network), cpu_.GetAllocator(for_network));
}

TEST_F(PooledDeviceTest, BehavesLikeItsDevice) {
  EXPECT_EQ(device_->name(), cpu_.name());
  EXPECT_EQ(device_->device_type(), "CPU");
  EXPECT_EQ(device_->UnderlyingDevice(), &cpu_);
  EXPECT_EQ(device_->resource_manager(), cpu_.resource_manager());
  EXPECT_EQ(device_->has_eigen_cpu_device(), cpu_.has_eigen_cpu_device());
  EXPECT_TRUE(device_->Sync().ok());
}

TEST_F(PooledDeviceTest, TensorsAreCopiedAsItsDeviceCopiesThem) {
  class Copies : public CpuUnderTest {
   public:
    void CopyTensorInSameDevice(const Tensor* from, Tensor* to, const tensorflow::DeviceContext*,
                                tensorflow::StatusCallback done) override {
      *to = *from;
      done(absl::InternalError("copied"));
    }
  } copies;
  const Tensor from(7);
  Tensor to;
  absl::Status status;
  NewPooledDevice(&copies)->CopyTensorInSameDevice(
      &from, &to, nullptr, [&status](const absl::Status& done) { status = done; });
  EXPECT_EQ(status.message(), "copied");
  EXPECT_TRUE(to.SharesBufferWith(from));
}

TEST_F(PooledDeviceTest, OnlyACpuHasAPooledDevice) {
  class Gpu : public tensorflow::Device {
   public:
    Gpu() : Device(tensorflow::Env::Default(), Attributes()) {}
    absl::Status Sync() override { return absl::OkStatus(); }

   private:
    static tensorflow::DeviceAttributes Attributes() {
      tensorflow::DeviceAttributes attributes;
      attributes.set_name("/job:localhost/replica:0/task:0/device:GPU:0");
      attributes.set_device_type("GPU");
      return attributes;
    }
  } gpu;
  EXPECT_EQ(NewPooledDevice(&gpu), nullptr);
  tensorflow::DeviceBase part(tensorflow::Env::Default());
  EXPECT_EQ(NewPooledDevice(&part), nullptr);
}

}  // namespace
}  // namespace tensor_array_grad
