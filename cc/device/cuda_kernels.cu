// Every kernel here loops over its output with a stride of the whole grid, and the grid has at most
// as many blocks as the device runs at a time. So an output of any size takes one launch, and
// counts beyond 2^31 need no other code.

#include "cc/device/cuda_kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>

// Keeps a large parameter where the launch put it, instead of one copy per thread.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define TAG_GRID_CONSTANT __grid_constant__
#else
#define TAG_GRID_CONSTANT
#endif

namespace tensor_array_grad::cuda {
namespace {

constexpr int kThreads = 256;     // per block
constexpr int kVectorBytes = 16;  // the widest load and store

Error ToError(cudaError_t error) {
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

// "13.0" of 13000.
std::string VersionName(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// ---- launching

thread_local int64_t launched = 0;

// Sets `blocks` to how many blocks of `kKernel` the current device runs at a time. Queries CUDA
// once per device.
template <auto kKernel>
cudaError_t ResidentBlocks(int64_t* blocks) {
  constexpr int kRemembered = 64;                  // devices
  static std::atomic<int64_t> known[kRemembered];  // 0: not queried yet
  int device = 0, processors = 0, on_each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  if (device < kRemembered) *blocks = known[device].load(std::memory_order_relaxed);
  if (device < kRemembered && *blocks > 0) return cudaSuccess;
  error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return error;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, kKernel, kThreads, 0);
  if (error != cudaSuccess) return error;
  *blocks = std::max(int64_t{1}, int64_t{processors} * on_each);
  if (device < kRemembered) known[device].store(*blocks, std::memory_order_relaxed);
  return cudaSuccess;
}

// Queues `kKernel` with as many blocks as `units` of work need at `units_each` per block, but at
// most as many as the device runs at a time.
template <auto kKernel, typename... Args>
Error Launch(int64_t units, int64_t units_each, Stream stream, const Args&... args) {
  int64_t resident = 0;
  const cudaError_t error = ResidentBlocks<kKernel>(&resident);
  if (error != cudaSuccess) return ToError(error);
  const int64_t needed = (units + units_each - 1) / units_each;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::min(needed, resident)));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream);
  ++launched;
  return ToError(cudaLaunchKernelEx(&config, kKernel, args...));
}

// ---- adding

template <typename T>
struct alignas(kVectorBytes) Vector {
  static constexpr int kLanes = kVectorBytes / sizeof(T);
  T lanes[kLanes];
};

template <typename T>
__device__ T Plus(T a, T b) {
  return static_cast<T>(a + b);
}
// A float holds the sum of two of these precisely enough that rounding it gives the nearest value.
template <>
__device__ __half Plus(__half a, __half b) {
  return __float2half_rn(__half2float(a) + __half2float(b));
}
template <>
__device__ __nv_bfloat16 Plus(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __float2bfloat16_rn(__bfloat162float(a) + __bfloat162float(b));
}

// Adds `vectors` whole vectors, for which all three pointers are aligned, and then the values after
// them.
template <typename T>
__global__ void AddKernel(const T* left, const T* right, T* out, int64_t vectors, int64_t count) {
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = first; i < vectors; i += stride) {
    const Vector<T> a = reinterpret_cast<const Vector<T>*>(left)[i];
    const Vector<T> b = reinterpret_cast<const Vector<T>*>(right)[i];
    Vector<T> sum;
    for (int lane = 0; lane < Vector<T>::kLanes; ++lane) {
      sum.lanes[lane] = Plus(a.lanes[lane], b.lanes[lane]);
    }
    reinterpret_cast<Vector<T>*>(out)[i] = sum;
  }
  for (int64_t i = vectors * Vector<T>::kLanes + first; i < count; i += stride) {
    out[i] = Plus(left[i], right[i]);
  }
}

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

template <typename T>
Error AddAll(const void* left, const void* right, void* out, int64_t count, Stream stream) {
  const bool aligned = (Address(left) | Address(right) | Address(out)) % kVectorBytes == 0;
  const int64_t vectors = aligned ? count / Vector<T>::kLanes : 0;
  return Launch<AddKernel<T>>(std::max(vectors, count - vectors * Vector<T>::kLanes), kThreads,
                              stream, static_cast<const T*>(left), static_cast<const T*>(right),
                              static_cast<T*>(out), vectors, count);
}

// ---- packing

// Up to `kMost` segments, passed by value. Larger arguments make a launch slower, so that there are
// two sizes of table.
template <int64_t kMost>
struct InlineTable {
  __device__ const Segment& operator[](int64_t i) const { return segments[i]; }
  Segment segments[kMost];
};
constexpr int64_t kFewSegments = 8;
static_assert(sizeof(InlineTable<kInlineSegments>) + 3 * sizeof(int64_t) <= 4096, "CUDA's limit");
// Any number of segments, in device memory.
using FarTable = const Segment*;

// A block fills stretches of this many units, and looks up which segments lie in each stretch.
constexpr int64_t kStretch = 4 * kThreads;

// The segment in [low, high) that contains byte `at`. Requires: one of them contains it.
template <typename Table>
__device__ int64_t FindSegment(const Table& table, int64_t at, int64_t low, int64_t high) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (table[middle].begin <= at) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Fills out[0 .. units). All sources and begins are aligned to a unit.
template <typename Unit, typename Table>
__global__ void PackKernel(const TAG_GRID_CONSTANT Table table, int64_t count, Unit* out,
                           int64_t units) {
  constexpr int64_t kWidth = sizeof(Unit);
  const int64_t stride = gridDim.x * kStretch;
  for (int64_t begin = blockIdx.x * kStretch; begin < units; begin += stride) {
    const int64_t end = begin + kStretch < units ? begin + kStretch : units;
    // The segments of this stretch, at most one per unit. The search for each unit is limited to
    // them.
    const int64_t first = FindSegment(table, begin * kWidth, int64_t{0}, count);
    const int64_t most = first + (end - begin);
    const int64_t last = FindSegment(table, (end - 1) * kWidth, first, most < count ? most : count);
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
      const Segment segment = table[FindSegment(table, i * kWidth, first, last + 1)];
      const Unit* const source = static_cast<const Unit*>(segment.source);
      out[i] = source == nullptr ? Unit{} : source[i - segment.begin / kWidth];
    }
  }
}

// The driver stages a copy from host memory that is not pinned before the call returns, so that
// `from` may be freed then. A copy of at most this size is queued at once; a larger one may wait
// until the stream has finished the work queued before it.
constexpr int64_t kTakenAtOnce = 64 * 1024;

Error CopyToDevice(const void* from, void* to, int64_t bytes, Stream stream) {
  for (int64_t at = 0; at < bytes; at += kTakenAtOnce) {
    const cudaError_t error =
        cudaMemcpyAsync(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
                        std::min(kTakenAtOnce, bytes - at), cudaMemcpyHostToDevice,
                        static_cast<cudaStream_t>(stream));
    if (error != cudaSuccess) return ToError(error);
  }
  return nullptr;
}

// The largest power of two, up to a vector, that divides all addresses, begins and `bytes`.
int64_t UnitBytes(const Segment* segments, int64_t count, const void* out, int64_t bytes) {
  uintptr_t bits = kVectorBytes | Address(out) | static_cast<uintptr_t>(bytes);
  for (int64_t i = 0; i < count; ++i) {
    bits |= Address(segments[i].source) | static_cast<uintptr_t>(segments[i].begin);
  }
  return static_cast<int64_t>(bits & (~bits + 1));
}

template <typename Unit, int64_t kMost>
Error PackInline(const Segment* segments, int64_t count, Unit* out, int64_t units, Stream stream) {
  InlineTable<kMost> table;
  std::copy(segments, segments + count, table.segments);
  return Launch<PackKernel<Unit, InlineTable<kMost>>>(units, kStretch, stream, table, count, out,
                                                      units);
}

template <typename Unit>
Error PackUnits(const Segment* segments, int64_t count, void* table, void* out, int64_t bytes,
                Stream stream) {
  const int64_t units = bytes / static_cast<int64_t>(sizeof(Unit));
  Unit* const to = static_cast<Unit*>(out);
  if (count <= kFewSegments) {
    return PackInline<Unit, kFewSegments>(segments, count, to, units, stream);
  }
  if (count <= kInlineSegments) {
    return PackInline<Unit, kInlineSegments>(segments, count, to, units, stream);
  }
  const FarTable far_table = static_cast<FarTable>(table);
  return Launch<PackKernel<Unit, FarTable>>(units, kStretch, stream, far_table, count, to, units);
}

}  // namespace

bool Built() { return true; }

int64_t Launched() { return launched; }

std::string WhyUnusable() {
  int driver = 0, devices = 0;
  cudaError_t error = cudaDriverGetVersion(&driver);
  if (error == cudaSuccess && driver == 0) return "there is no NVIDIA driver";
  if (error == cudaSuccess && driver / 1000 < CUDART_VERSION / 1000) {
    return "the NVIDIA driver supports CUDA " + VersionName(driver) + " and CUDA " +
           VersionName(CUDART_VERSION) + " is needed";
  }
  if (error == cudaSuccess) error = cudaGetDeviceCount(&devices);
  for (int device = 0; error == cudaSuccess && device < devices; ++device) {
    int major = 0, minor = 0;
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (error != cudaSuccess) break;
    error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    if (error != cudaSuccess) break;
    const int capability = 10 * major + minor;
    const std::string gpu = "GPU " + std::to_string(device) + " has compute capability " +
                            VersionName(major * 1000 + minor * 10);
    if (capability < TAG_CUDA_LOWEST) {
      return gpu + " and " + VersionName(TAG_CUDA_LOWEST * 100) + " or more is needed";
    }
    // For this GPU the driver translates PTX, and it rejects PTX that is newer than itself.
    if (capability / 10 > TAG_CUDA_NEWEST / 10 && driver < CUDART_VERSION) {
      return gpu + ", for which this build has PTX of CUDA " + VersionName(CUDART_VERSION) +
             " alone, and the NVIDIA driver supports CUDA " + VersionName(driver);
    }
  }
  return error == cudaSuccess ? "" : std::string("CUDA says: ") + cudaGetErrorString(error);
}

Error Add(Number number, const void* left, const void* right, void* out, int64_t count,
          Stream stream) {
  if (count == 0) return nullptr;
  switch (number) {
    case Number::kInt8:
      return AddAll<uint8_t>(left, right, out, count, stream);
    case Number::kInt16:
      return AddAll<uint16_t>(left, right, out, count, stream);
    case Number::kInt32:
      return AddAll<uint32_t>(left, right, out, count, stream);
    case Number::kInt64:
      return AddAll<uint64_t>(left, right, out, count, stream);
    case Number::kHalf:
      return AddAll<__half>(left, right, out, count, stream);
    case Number::kBfloat16:
      return AddAll<__nv_bfloat16>(left, right, out, count, stream);
    case Number::kFloat:
      return AddAll<float>(left, right, out, count, stream);
    case Number::kDouble:
      return AddAll<double>(left, right, out, count, stream);
  }
  return "no such number";
}

Error Zero(void* out, int64_t bytes, Stream stream) {
  if (bytes == 0) return nullptr;
  ++launched;
  return ToError(cudaMemsetAsync(out, 0, bytes, static_cast<cudaStream_t>(stream)));
}

Error Pack(const Segment* segments, int64_t count, void* table, void* out, int64_t bytes,
           Stream stream) {
  if (bytes == 0) return nullptr;
  if (count > kInlineSegments) {
    const Error error = CopyToDevice(segments, table, count * sizeof(Segment), stream);
    if (error != nullptr) return error;
  }
  switch (UnitBytes(segments, count, out, bytes)) {
    case 16:
      return PackUnits<Vector<uint32_t>>(segments, count, table, out, bytes, stream);
    case 8:
      return PackUnits<uint64_t>(segments, count, table, out, bytes, stream);
    case 4:
      return PackUnits<uint32_t>(segments, count, table, out, bytes, stream);
    case 2:
      return PackUnits<uint16_t>(segments, count, table, out, bytes, stream);
    default:
      return PackUnits<uint8_t>(segments, count, table, out, bytes, stream);
  }
}

}  // namespace tensor_array_grad::cuda
