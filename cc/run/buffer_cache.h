#ifndef CC_RUN_BUFFER_CACHE_H_
#define CC_RUN_BUFFER_CACHE_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "cc/base/mutex.h"
#include "tensorflow/core/framework/allocator.h"

namespace tensor_array_grad {

// Buffers for the kernels of loops that do not come from the pool of small blocks (block_pool.h).
// Freed buffers of kLeastCachedBuffer to kMostCachedBuffer bytes are kept for later calls that ask
// for about that size. Other buffers come from the underlying allocator and go back to it.
// All are given back when the executor runs the loop instead (loop_kernels.cc), because it does not
// use the cache.
//
// The problem: glibc gives each thread a heap of its own (an arena), and a freed buffer goes back
// to the heap that it came from. A loop in one kernel takes all its buffers from the heap of one
// thread, but the thread differs from run to run, and so the heap of each thread grows to the size
// that one run needs. An LSTM of 128 units takes 235 MB without the cache and 168 MB with it, where
// stock takes 193 MB: there, all threads of the executor share the work of each run.
//
// TensorFlow's BFCAllocator in its place takes more memory than stock if TensorFlow runs without
// oneDNN (benchmarks/README.md), and gives nothing back.
//
// The cache has a list of free buffers for each of kSizes sizes. A size is at most an eighth larger
// than what was asked for. A header in front of each buffer holds its size. When the free buffers
// would exceed kMostCachedBytes, or the underlying allocator has no memory left, all of them are
// given back. Thus sizes that are no longer needed leave the cache.
//
// If another thread uses the lists, a call tries again for a few microseconds and then uses the
// underlying allocator. This must be rare, because each such call adds a buffer to the cache or
// takes one out. Because the number of tries is limited, a fork is safe, too: if the lock was held
// at that moment, it stays locked in the child, which then works without the cache.
//
// Thread-safe; a buffer may be freed by another thread.
inline constexpr size_t kLeastCachedBuffer = 4096, kMostCachedBuffer = size_t{1} << 20;
inline constexpr size_t kMostCachedBytes = size_t{64} << 20;  // in all free buffers together

class BufferCache {
 public:
  // `underlying` must outlive the cache and all buffers.
  explicit BufferCache(tensorflow::Allocator* underlying) : underlying_(underlying) {}

  // Memory of at least `bytes`, aligned to `alignment`; nullptr if there is none.
  void* Allocate(size_t alignment, size_t bytes,
                 const tensorflow::AllocationAttributes& attributes);

  // Frees a buffer that Allocate returned. `buffer` may be null.
  void Free(void* buffer) noexcept;

  // Gives all free buffers back to the underlying allocator, or none if another thread holds the
  // lock for long. Returns whether it gave any back.
  bool GiveBackAll() noexcept;

 private:
  // In front of each buffer.
  struct Header {
    void* start;   // what `underlying` allocated
    int size;      // the number of its list; -1 if it is not to be cached
    Header* next;  // in a list of free buffers
  };
  static constexpr size_t kHeaderBytes = 64;
  static constexpr int kStepsPerDoubling = 8;
  static constexpr int kSizes = 8 * kStepsPerDoubling + 1;  // 4 KiB to 1 MiB

  // Size number `size` means buffers of BytesOf(size) bytes.
  static int SizeOf(size_t bytes);
  static size_t BytesOf(int size);
  static Header* HeaderOf(void* buffer);

  // The free buffers, one list for each size.
  struct Lists {
    Header* first[kSizes] = {};
    size_t bytes = 0;  // in all of them together
  };

  // Returns false if another thread holds the lock for long.
  bool LockSoon() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true, mu_);
  void* Take(int size);
  bool Keep(Header* header);  // false if it must go back to the underlying allocator

  tensorflow::Allocator* const underlying_;
  Mutex mu_;
  Lists free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace tensor_array_grad

#endif  // CC_RUN_BUFFER_CACHE_H_
