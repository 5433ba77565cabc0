#include "cc/run/buffer_cache.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "cc/base/block_pool.h"
#include "cc/base/switches.h"

namespace tensor_array_grad {
namespace {

bool Caches() {
  static const bool caches = kPools && !IsLeftOut("buffer_cache");
  return caches;
}

}  // namespace

// Sizes are kLeastCachedBuffer * 2^d * (8 + s) / 8 bytes, where d counts the doublings and s the
// steps between them.
size_t BufferCache::BytesOf(int size) {
  const int doublings = size / kStepsPerDoubling, steps = size % kStepsPerDoubling;
  return (kLeastCachedBuffer << doublings) / kStepsPerDoubling * (kStepsPerDoubling + steps);
}

// The least size that holds `bytes`. Requires: kLeastCachedBuffer <= bytes <= kMostCachedBuffer.
int BufferCache::SizeOf(size_t bytes) {
  int doublings = 0;
  while ((kLeastCachedBuffer << (doublings + 1)) <= bytes) ++doublings;
  const size_t least = kLeastCachedBuffer << doublings, step = least / kStepsPerDoubling;
  return doublings * kStepsPerDoubling + static_cast<int>((bytes - least + step - 1) / step);
}

BufferCache::Header* BufferCache::HeaderOf(void* buffer) {
  return reinterpret_cast<Header*>(static_cast<char*>(buffer) - kHeaderBytes);
}

void* BufferCache::Allocate(size_t alignment, size_t bytes,
                            const tensorflow::AllocationAttributes& attributes) {
  if (!Caches()) return underlying_->AllocateRaw(alignment, bytes, attributes);
  int size = -1;
  if (bytes >= kLeastCachedBuffer && bytes <= kMostCachedBuffer && alignment <= kHeaderBytes) {
    size = SizeOf(bytes);
    bytes = BytesOf(size);
    if (void* const buffer = Take(size); buffer != nullptr) return buffer;
  }
  const size_t room = std::max(alignment, kHeaderBytes);  // for the header
  if (bytes > std::numeric_limits<size_t>::max() - room) return nullptr;
  void* start = underlying_->AllocateRaw(room, bytes + room, attributes);
  if (start == nullptr && GiveBackAll()) {
    start = underlying_->AllocateRaw(room, bytes + room, attributes);
  }
  if (start == nullptr) return nullptr;
  void* const buffer = static_cast<char*>(start) + room;
  new (HeaderOf(buffer)) Header{start, size, nullptr};
  return buffer;
}

void BufferCache::Free(void* buffer) noexcept {
  if (!Caches()) return underlying_->DeallocateRaw(buffer);
  if (buffer == nullptr) return;
  Header* const header = HeaderOf(buffer);
  if (!Keep(header)) underlying_->DeallocateRaw(header->start);
}

// The lock is held for some 10 ns, or for a copy of the lists, so tries of about 2 us in all
// suffice unless the system has interrupted the thread that holds it.
bool BufferCache::LockSoon() {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    if (mu_.TryLock()) return true;
  }
  return false;
}

void* BufferCache::Take(int size) {
  if (!LockSoon()) return nullptr;
  Header* const header = free_.first[size];
  if (header != nullptr) {
    free_.first[size] = header->next;
    free_.bytes -= BytesOf(size);
  }
  mu_.Unlock();
  return header == nullptr ? nullptr : reinterpret_cast<char*>(header) + kHeaderBytes;
}

bool BufferCache::Keep(Header* header) {
  const int size = header->size;
  if (size < 0 || !LockSoon()) return false;
  const bool fits = free_.bytes + BytesOf(size) <= kMostCachedBytes;
  if (fits) {
    header->next = std::exchange(free_.first[size], header);
    free_.bytes += BytesOf(size);
  }
  mu_.Unlock();
  if (!fits) GiveBackAll();
  return fits;
}

bool BufferCache::GiveBackAll() noexcept {
  if (!LockSoon()) return false;
  const Lists removed = std::exchange(free_, Lists());
  mu_.Unlock();
  for (Header* header : removed.first) {
    while (header != nullptr) {
      underlying_->DeallocateRaw(std::exchange(header, header->next)->start);
    }
  }
  return removed.bytes > 0;
}

}  // namespace tensor_array_grad
