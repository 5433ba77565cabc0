#ifndef CC_TESTING_FAKE_CUDA_CUDA_BF16_H_
#define CC_TESTING_FAKE_CUDA_CUDA_BF16_H_

#include "unsupported/Eigen/CXX11/Tensor"

using __nv_bfloat16 = Eigen::bfloat16;
inline float __bfloat162float(__nv_bfloat16 value) { return static_cast<float>(value); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return static_cast<__nv_bfloat16>(value); }

#endif  // CC_TESTING_FAKE_CUDA_CUDA_BF16_H_
