#ifndef CC_DEVICE_CUDA_KERNELS_H_
#define CC_DEVICE_CUDA_KERNELS_H_

#include <cstdint>
#include <string>

// Work on device memory, through raw pointers. Implemented in CUDA (cuda_kernels.cu), or, in a
// build without CUDA, by functions that return an error (cuda_absent.cc). Includes no TensorFlow
// headers, so that the CUDA compiler need not compile them.
//
// Functions queue their work on the given stream and do not wait for it. The device of that stream
// must be the calling thread's current one, as it is in every kernel that TensorFlow runs.
// Thread-safe.
namespace tensor_array_grad::cuda {

// A cudaStream_t.
using Stream = void*;

// CUDA's message if something could not be queued, null on success. The string is never freed.
using Error = const char*;

// Whether this library holds device code.
bool Built();

// Why the GPUs that CUDA sees cannot run the device code of this library, in one clause; "" when
// they can. Does not open a device.
std::string WhyUnusable();

// How many kernels and fills the calling thread has queued so far, on all streams.
int64_t Launched();

// The types of numbers to add. An integer's width is enough, since signed and unsigned sums have
// the same bits. Complex numbers are added as pairs of real ones.
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

// Consecutive bytes of an output, from `begin` to the `begin` of the next segment: copied from
// `source`, or zeros if that is null.
struct Segment {
  const void* source;
  int64_t begin;
};

// Up to this many segments are passed as arguments of the launch; more need a table in device
// memory.
inline constexpr int64_t kInlineSegments = 240;

// Fills out[0 .. bytes) with `count` segments. One launch. `segments` is not needed after the call;
// `table` has room for them in device memory, and is null when count <= kInlineSegments.
// Requires: begins rise from 0 and stay below `bytes`; `out` overlaps no source.
Error Pack(const Segment* segments, int64_t count, void* table, void* out, int64_t bytes,
           Stream stream);

}  // namespace tensor_array_grad::cuda

#endif  // CC_DEVICE_CUDA_KERNELS_H_
