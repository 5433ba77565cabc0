// The device code as C++, on fake_cuda in the place of CUDA: linked before a library that has the
// real functions, these are taken.

#define TAG_CUDA_LOWEST 75
#define TAG_CUDA_NEWEST 90
#include "cc/device/cuda_kernels.cu"
