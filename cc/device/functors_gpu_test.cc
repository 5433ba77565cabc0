// Compares the functors of a GPU with those of the CPU. CMake makes two programs of this file: one
// for a real GPU, if there is one, and one that emulates the device code on the host
// (cc/testing/fake_cuda).

#include "cc/device/functors_gpu.h"

#include <cuda_runtime.h>

#include <complex>
#include <cstdlib>
#include <random>

#include "cc/base/counters.h"
#include "cc/base/tensorflow_names.h"
#include "cc/device/functors.h"
#include "cc/testing/matchers.h"
#include "tensorflow/core/framework/allocator.h"

namespace tensor_array_grad {
namespace {

// Allocates device memory as TensorFlow's allocators do: aligned to 256 bytes.
class DeviceAllocator : public tensorflow::Allocator {
 public:
  std::string Name() override { return "device"; }
  void* AllocateRaw(size_t, size_t bytes) override {
    void* pointer = nullptr;
    return cudaMalloc(&pointer, bytes) == cudaSuccess ? pointer : nullptr;
  }
  void DeallocateRaw(void* pointer) override { cudaFree(pointer); }
};

Tensor OnDevice(DataType dtype, const TensorShape& shape) {
  static auto* const allocator = new DeviceAllocator;
  return Tensor(allocator, dtype, shape);
}

Tensor ToDevice(const Tensor& host) {
  Tensor device = OnDevice(host.dtype(), host.shape());
  cudaMemcpy(device.data(), host.data(), host.TotalBytes(), cudaMemcpyHostToDevice);
  return device;
}

Tensor ToHost(const Tensor& device) {
  Tensor host(device.dtype(), device.shape());
  cudaMemcpy(host.data(), device.data(), host.TotalBytes(), cudaMemcpyDeviceToHost);
  return host;
}

absl::Status Allocate(int64_t bytes, Tensor* room) {
  *room = OnDevice(tensorflow::DT_UINT8, TensorShape({bytes}));
  return absl::OkStatus();
}

gpu::Queue DefaultStream() { return {nullptr, Allocate}; }

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return;
    const char* const required = std::getenv("TENSOR_ARRAY_GRAD_GPU_REQUIRED");
    ASSERT_STRNE(required, "1") << "CUDA finds no GPU";
    GTEST_SKIP() << "no GPU";
  }
  std::mt19937 random{7};
};

template <typename T>
class GpuAddTest : public GpuTest {};
using Numbers = ::testing::Types<float, double, Eigen::half, Eigen::bfloat16, int8_t, int16_t,
                                 int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                                 std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(GpuAddTest, Numbers);

// Sizes near those of a vector and of a block, and one larger than the device runs at a time.
constexpr int64_t kSizes[] = {0, 1, 3, 7, 16, 17, 255, 4099, 100003};

template <typename T>
Tensor Counting(int64_t n, int step) {
  Tensor values(tensorflow::DataTypeToEnum<T>::value, TensorShape({n}));
  for (int64_t i = 0; i < n; ++i) values.flat<T>()(i) = T(static_cast<float>(i * step % 61));
  return values;
}

TYPED_TEST(GpuAddTest, SumsAsTheCpuDoesAlsoInPlace) {
  for (const int64_t n : kSizes) {
    const Tensor a = Counting<TypeParam>(n, 1), b = Counting<TypeParam>(n, 7);
    Tensor want(a.dtype(), a.shape());
    cpu::Add(a, b, cpu::OnThisThread, &want);
    Tensor left = ToDevice(a), sum = OnDevice(a.dtype(), a.shape());
    EXPECT_OK(gpu::Add(left, ToDevice(b), DefaultStream(), &sum));
    EXPECT_EQ(ValuesOf<TypeParam>(ToHost(sum)), ValuesOf<TypeParam>(want)) << n;
    EXPECT_OK(gpu::Add(left, ToDevice(b), DefaultStream(), &left));
    EXPECT_EQ(ValuesOf<TypeParam>(ToHost(left)), ValuesOf<TypeParam>(want)) << n;
  }
}

TYPED_TEST(GpuAddTest, SumsViewsThatAreNotAlignedToAVector) {
  constexpr int64_t kCount = 1000;
  const Tensor a = Counting<TypeParam>(kCount + 3, 1), b = Counting<TypeParam>(kCount, 7);
  for (const int64_t begin : {1, 2, 3}) {
    const Tensor shifted = a.Slice(begin, begin + kCount);
    Tensor want(b.dtype(), b.shape());
    cpu::Add(b, shifted, cpu::OnThisThread, &want);
    Tensor sum = ToDevice(b);
    EXPECT_OK(gpu::Add(sum, ToDevice(a).Slice(begin, begin + kCount), DefaultStream(), &sum));
    EXPECT_EQ(ValuesOf<TypeParam>(ToHost(sum)), ValuesOf<TypeParam>(want)) << begin;
  }
}

TEST_F(GpuTest, ZeroFillsAllAndNoMore) {
  for (const int64_t n : kSizes) {
    Tensor values = ToDevice(Counting<float>(n + 1, 1)), part = values.Slice(0, n);
    EXPECT_OK(gpu::Zero(DefaultStream(), &part));
    EXPECT_EQ(ValuesOf(ToHost(part)), std::vector<float>(n, 0.f));
    EXPECT_EQ(ValuesOf(ToHost(values)).back(), static_cast<float>(n % 61));
  }
}

// Packs random pieces of a few tensors, zeros among them, on both sides.
void ComparePacks(DataType dtype, int64_t pieces, int64_t longest, std::mt19937& random) {
  const auto below = [&random](int64_t n) { return static_cast<int64_t>(random() % n); };
  std::vector<Tensor> host, device;
  for (int i = 0; i < 3; ++i) {
    Tensor bytes = Counting<uint8_t>((longest + 50) * tensorflow::DataTypeSize(dtype), 2 * i + 1);
    Tensor values;
    ASSERT_OK(values.BitcastFrom(bytes, dtype, TensorShape({longest + 50})));
    host.push_back(values);
    device.push_back(ToDevice(values));
  }
  std::vector<Piece> from_host, from_device;
  int64_t total = 0;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t count = below(longest + 1), begin = below(50), which = below(5);
    from_host.push_back({which < 3 ? host[which] : Tensor(), begin, count});
    from_device.push_back({which < 3 ? device[which] : Tensor(), begin, count});
    total += count;
  }
  Tensor want(dtype, TensorShape({total})), got = OnDevice(dtype, TensorShape({total}));
  cpu::Pack(from_host, cpu::OnThisThread, &want);
  ASSERT_OK(gpu::Pack(from_device, DefaultStream(), &got));
  const Tensor back = ToHost(got);
  ASSERT_EQ(back.tensor_data(), want.tensor_data())
      << tensorflow::DataTypeString(dtype) << ", " << pieces << " pieces up to " << longest;
}

TEST_F(GpuTest, PacksAsTheCpuDoes) {
  for (const DataType dtype : {tensorflow::DT_BOOL, tensorflow::DT_HALF, tensorflow::DT_FLOAT,
                               tensorflow::DT_INT64, tensorflow::DT_COMPLEX128}) {
    for (const int64_t pieces : {0, 1, 2, 30, 240, 241, 1000, 5000}) {
      for (const int64_t longest : {1, 5, 300}) ComparePacks(dtype, pieces, longest, random);
    }
    ComparePacks(dtype, 5, 50000, random);
  }
}

TEST_F(GpuTest, RowsCutFromOneTensorAreCopiedAsOne) {
  constexpr int64_t kRows = 1000, kWidth = 16;
  const Tensor values = Counting<float>(kRows * kWidth, 1);
  const Tensor source = ToDevice(values);
  std::vector<Piece> pieces;
  for (int64_t i = 0; i < kRows; ++i) {
    pieces.push_back({source.Slice(i * kWidth, (i + 1) * kWidth), 0, kWidth});
  }
  int tables = 0;
  const auto allocate = [&tables](int64_t bytes, Tensor* room) {
    ++tables;
    return Allocate(bytes, room);
  };
  Tensor out = OnDevice(values.dtype(), values.shape());
  ASSERT_OK(gpu::Pack(pieces, {nullptr, allocate}, &out));
  EXPECT_EQ(ValuesOf(ToHost(out)), ValuesOf(values));
  EXPECT_EQ(tables, 0);
  std::swap(pieces[3], pieces[500]);
  std::reverse(pieces.begin(), pieces.end());
  ASSERT_OK(gpu::Pack(pieces, {nullptr, allocate}, &out));
  EXPECT_EQ(ValuesOf(ToHost(out))[0], ValuesOf(values)[(kRows - 1) * kWidth]);
  EXPECT_EQ(tables, 1);
}

TEST_F(GpuTest, EachCallIsOneLaunch) {
  const auto launches = [] { return ReadCounters()["gpu.launches"]; };
  for (const int64_t n : {10, 1000, 100000}) {
    const Tensor source = ToDevice(Counting<float>(2 * n, 1));
    std::vector<Piece> pieces;
    for (int64_t i = 0; i < n; ++i) pieces.push_back({source, 2 * i, 1});
    Tensor out = OnDevice(tensorflow::DT_FLOAT, TensorShape({n}));
    int64_t before = launches();
    ASSERT_OK(gpu::Pack(pieces, DefaultStream(), &out));
    EXPECT_EQ(launches() - before, 1);
    before = launches();
    ASSERT_OK(gpu::Add(out, source.Slice(0, n), DefaultStream(), &out));
    EXPECT_EQ(launches() - before, 1);
    before = launches();
    ASSERT_OK(gpu::Zero(DefaultStream(), &out));
    EXPECT_EQ(launches() - before, 1);
  }
}

TEST_F(GpuTest, ATableThatCannotBeAllocatedIsAnError) {
  const Tensor source = ToDevice(Counting<float>(2000, 1));
  std::vector<Piece> pieces;
  for (int64_t i = 0; i < 1000; ++i) pieces.push_back({source, 2 * i, 1});
  Tensor out = OnDevice(tensorflow::DT_FLOAT, TensorShape({1000}));
  const auto none = [](int64_t, Tensor*) { return absl::ResourceExhaustedError("no room"); };
  EXPECT_THAT(gpu::Pack(pieces, {nullptr, none}, &out),
              Fails(absl::StatusCode::kResourceExhausted, "no room"));
}

TEST_F(GpuTest, ABoolHasNoSum) {
  Tensor a = OnDevice(tensorflow::DT_BOOL, TensorShape({1}));
  EXPECT_THAT(gpu::Add(a, a, DefaultStream(), &a),
              Fails(absl::StatusCode::kInternal, "no sum of bool"));
}

TEST_F(GpuTest, TheDeviceCodeRunsHere) { EXPECT_EQ(cuda::WhyUnusable(), ""); }

}  // namespace
}  // namespace tensor_array_grad
