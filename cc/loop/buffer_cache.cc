#include "cc/loop/buffer_cache.h"

#include <algorithm>
#include <new>

namespace tensor_array_grad {
namespace {

constexpr size_t kLeastBytes = 4096;

}  // namespace

// Sizes are 4096 * 2^d * (8 + s) / 8 bytes, where d counts the doublings and s the steps between
// them.
size_t BufferCache::BytesOf(int size) {
  const int doublings = size / kStepsPerDoubling, steps = size % kStepsPerDoubling;
  return (kLeastBytes << doublings) / kStepsPerDoubling * (kStepsPerDoubling + steps);
}

// The least size that holds `bytes`. Requires: bytes <= kMostCachedBuffer.
int BufferCache::SizeOf(size_t bytes) {
  int doublings = 0;
  while ((kLeastBytes << (doublings + 1)) <= bytes) ++doublings;
  const size_t least = kLeastBytes << doublings, step = least / kStepsPerDoubling;
  const size_t above = std::max(bytes, least) - least;
  return doublings * kStepsPerDoubling + static_cast<int>((above + step - 1) / step);
}

BufferCache::Header* BufferCache::HeaderOf(void* buffer) {
  return reinterpret_cast<Header*>(static_cast<char*>(buffer) - kHeaderBytes);
}

void* BufferCache::Allocate(size_t alignment, size_t bytes,
                            const tensorflow::AllocationAttributes& attributes) {
  if (!kPools) return underlying_->AllocateRaw(alignment, bytes, attributes);
  const bool cached = bytes <= kMostCachedBuffer && alignment <= kHeaderBytes;
  const int size = cached ? SizeOf(bytes) : 0;
  if (cached) {
    bytes = BytesOf(size);
    if (void* const buffer = Take(size); buffer != nullptr) return buffer;
  }
  const size_t room = std::max(alignment, kHeaderBytes);  // for the header
  void* const start = underlying_->AllocateRaw(room, bytes + room, attributes);
  if (start == nullptr) return nullptr;
  void* const buffer = static_cast<char*>(start) + room;
  new (HeaderOf(buffer)) Header{start, cached ? bytes : 0, nullptr};
  return buffer;
}

void BufferCache::Free(void* buffer) noexcept {
  if (!kPools) return underlying_->DeallocateRaw(buffer);
  Header* const header = HeaderOf(buffer);
  if (!Keep(header)) underlying_->DeallocateRaw(header->start);
}

// TryLock and Unlock instead of a MutexLock, which would wait.
void* BufferCache::Take(int size) {
  if (!mu_.TryLock()) return nullptr;
  Header* const header = free_[size];
  if (header != nullptr) {
    free_[size] = header->next;
    free_bytes_ -= header->bytes;
  }
  mu_.Unlock();
  return header == nullptr ? nullptr : reinterpret_cast<char*>(header) + kHeaderBytes;
}

bool BufferCache::Keep(Header* header) {
  if (header->bytes == 0 || !mu_.TryLock()) return false;
  const bool keep = free_bytes_ + header->bytes <= kMostCachedBytes;
  if (keep) {
    Header*& first = free_[SizeOf(header->bytes)];
    header->next = first;
    first = header;
    free_bytes_ += header->bytes;
  }
  mu_.Unlock();
  return keep;
}

}  // namespace tensor_array_grad
