// The device code compiled as C++, with fake_cuda in place of CUDA. If this is linked before a
// library that has the real functions, these are used.

#define TAG_CUDA_LOWEST 75
#define TAG_CUDA_NEWEST 90
#include "cc/device/cuda_kernels.cu"
