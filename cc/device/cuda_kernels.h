#ifndef CC_DEVICE_CUDA_KERNELS_H_
#define CC_DEVICE_CUDA_KERNELS_H_

#include <cstdint>
#include <string>

// The work on device memory, over raw pointers: implemented in CUDA (cuda_kernels.cu), or by
// functions that say that it is not there (cuda_absent.cc). Knows nothing of TensorFlow, whose
// headers a CUDA compiler need not understand.
//
// Work is queued on the stream given and not waited for. The device of that stream must be the
// calling thread's current one, as it is in every kernel that TensorFlow runs. Thread-safe.
namespace tensor_array_grad::cuda {

// A cudaStream_t.
using Stream = void*;

// Why something could not be queued, in CUDA's words; null when it was. Lives for ever.
using Error = const char*;

// Whether this library holds device code.
bool Built();

// Why the GPUs that CUDA sees cannot run the device code of this library, in one clause; "" when
// they can. Does not open a device.
std::string WhyUnusable();

// How many kernels and fills the calling thread has queued so far, of all streams.
int64_t Launched();

// What is added: integers of either sign by their width, complex numbers as pairs of real ones.
enum class Number {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kHalf,
  kBfloat16,
  kFloat,
  kDouble,
};

// out[i] = left[i] + right[i] for i < count; `out` may be `left` or `right`. One launch.
// Requires: pointers aligned to the number.
Error Add(Number number, const void* left, const void* right, void* out, int64_t count,
          Stream stream);

// Sets `bytes` bytes to zero.
Error Zero(void* out, int64_t bytes, Stream stream);

// Bytes that stand together in an output, from `begin` to where the next run begins: copied from
// `source`, or zeros where that is null.
struct Run {
  const void* source;
  int64_t begin;
};

// So many runs travel inside a launch; more need a table in device memory.
inline constexpr int64_t kInlineRuns = 240;

// Fills out[0 .. bytes) with `count` runs. One launch. `runs` is not needed after the call; `table`
// has room for them in device memory, and is null when count <= kInlineRuns.
// Requires: begins rise from 0 and stay below `bytes`; `out` overlaps no source.
Error Pack(const Run* runs, int64_t count, void* table, void* out, int64_t bytes, Stream stream);

}  // namespace tensor_array_grad::cuda

#endif  // CC_DEVICE_CUDA_KERNELS_H_
