// The functions of cuda_kernels.h in a build without CUDA. No kernel is registered for a GPU then,
// so that only Built() and WhyUnusable() are called.

#include "cc/device/cuda_kernels.h"

namespace tensor_array_grad::cuda {
namespace {

constexpr char kAbsent[] = "this build of tensor_array_grad has no device code";

}  // namespace

bool Built() { return false; }

std::string WhyUnusable() { return kAbsent; }

int64_t Launched() { return 0; }

Error Add(Number, const void*, const void*, void*, int64_t, Stream) { return kAbsent; }

Error Zero(void*, int64_t, Stream) { return kAbsent; }

Error Pack(const Segment*, int64_t, void*, void*, int64_t, Stream) { return kAbsent; }

}  // namespace tensor_array_grad::cuda
