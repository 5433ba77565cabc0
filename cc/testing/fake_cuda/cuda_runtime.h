#ifndef CC_TESTING_FAKE_CUDA_CUDA_RUNTIME_H_
#define CC_TESTING_FAKE_CUDA_CUDA_RUNTIME_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// The part of CUDA's runtime that cuda_kernels.cu, its tests and its benchmark use, on the host. A
// launch runs every thread of the grid, one after the other, before it returns. With this header in
// place of CUDA's a C++ compiler compiles the device code, so that its arithmetic and, under UBSan,
// the alignment of its loads are tested without a GPU. It does not show speed, nor anything
// about streams.

#define __global__
#define __device__
#define __grid_constant__
#define CUDART_VERSION 13000

// Called with true before, and with false after, a function of this header accesses device memory.
// The owner of that memory may forbid all other access.
inline void (*fake_cuda_touches)(bool) = [](bool) {};
struct FakeCudaTouch {
  FakeCudaTouch() { fake_cuda_touches(true); }
  ~FakeCudaTouch() { fake_cuda_touches(false); }
};

// ---- errors and memory

enum cudaError_t { cudaSuccess = 0, cudaErrorLaunchFailure = 719 };
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
};
using cudaStream_t = struct FakeCudaStream*;

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "unspecified launch failure";
}
inline cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  const FakeCudaTouch touch;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  const FakeCudaTouch touch;
  std::memset(to, value, bytes);
  return cudaSuccess;
}

// ---- streams, on which work is done at once, and events

inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

using cudaEvent_t = std::chrono::steady_clock::time_point*;
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new std::chrono::steady_clock::time_point;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *event = std::chrono::steady_clock::now();
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(*end - *begin).count();
  return cudaSuccess;
}

// ---- one device, of two processors that hold three blocks each

enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor,
};

inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* devices) {
  *devices = 1;
  return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount      ? 2
           : attribute == cudaDevAttrComputeCapabilityMajor ? 9
                                                            : 0;
  return cudaSuccess;
}
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int, size_t) {
  *blocks = 3;
  return cudaSuccess;
}

// ---- launching

struct dim3 {
  dim3(unsigned of = 1) : x(of) {}
  unsigned x;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

inline thread_local dim3 gridDim, blockDim, blockIdx, threadIdx;

template <typename... Parameters, typename... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Args&&... args) {
  constexpr unsigned kMostThreads = 1024;
  if (config->gridDim.x == 0 || config->blockDim.x > kMostThreads) return cudaErrorLaunchFailure;
  const FakeCudaTouch touch;
  gridDim = config->gridDim;
  blockDim = config->blockDim;
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel(args...);
  }
  return cudaSuccess;
}

#endif  // CC_TESTING_FAKE_CUDA_CUDA_RUNTIME_H_
