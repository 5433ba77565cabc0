#ifndef CC_BASE_BLOCK_POOL_H_
#define CC_BASE_BLOCK_POOL_H_

#include <cstddef>

namespace tensor_array_grad {

// Memory for small objects: the elements and nodes of lists, and small tensors.
//
// The problem: one iteration of a loop makes and frees several of them. TensorFlow allocates the
// values of a tensor with posix_memalign, for which glibc splits a larger chunk and later merges
// the parts again. In a loop of small tensors that took a third of the time.
//
// The solution: blocks of 64, 128, 192 ... bytes, aligned to 64, from one region of kPoolBytes. The
// region is divided into spans of 16 KiB, each of which has blocks of one size, so that a block's
// address determines its size. Each thread has one list of free blocks per block size. A thread
// that frees a block puts it on its own list, and takes blocks from there without a lock. A list
// that grows long passes a chain of blocks on to lists that all threads share; an empty list takes
// a chain from there:
//
//     AllocateBlock <──  thread's list  <── a chain at a time ──>  shared lists  <──  spans
//     FreeBlock     ──>   (no lock)                                   (one lock)
//
// The pool keeps its blocks, and a span keeps its block size, so a process keeps at most kPoolBytes
// that it no longer needs. Larger blocks come from the C library and go back to it, and so do those
// of a size that has no free block when all spans are in use.
//
// Thread-safe; a block may be freed by another thread. Works in a forked child, which loses only
// the free blocks that were in other threads' lists. Under AddressSanitizer all blocks come from
// the C library, so that it detects each use after free.
#ifdef TAG_SANITIZED_ADDRESSES
inline constexpr bool kPools = false;
#else
inline constexpr bool kPools = true;
#endif
inline constexpr size_t kPoolBytes = size_t{64} << 20;
inline constexpr size_t kMostPooledBytes = 4096 + 64;

// At least `bytes` of memory (which may be 0), aligned to 64. Throws std::bad_alloc. O(1).
void* AllocateBlock(size_t bytes);

// The same, but returns nullptr instead of memory of the C library.
void* TakePooledBlock(size_t bytes);

// Frees a block that either function returned. O(1).
void FreeBlock(void* block) noexcept;

// Whether `block` is in the pool.
bool IsPooled(const void* block);

// A base class for objects that live in blocks.
struct InBlock {
  static void* operator new(size_t bytes) { return AllocateBlock(bytes); }
  static void operator delete(void* block) { FreeBlock(block); }
};

}  // namespace tensor_array_grad

#endif  // CC_BASE_BLOCK_POOL_H_
