#ifndef CC_TESTING_FAKE_CUDA_CUDA_FP16_H_
#define CC_TESTING_FAKE_CUDA_CUDA_FP16_H_

#include "unsupported/Eigen/CXX11/Tensor"

using __half = Eigen::half;
inline float __half2float(__half value) { return static_cast<float>(value); }
inline __half __float2half_rn(float value) { return static_cast<__half>(value); }

#endif  // CC_TESTING_FAKE_CUDA_CUDA_FP16_H_
