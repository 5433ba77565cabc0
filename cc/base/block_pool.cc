#include "cc/base/block_pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "cc/base/counters.h"
#include "cc/base/mutex.h"

namespace tensor_array_grad {
namespace {

constexpr size_t kGrain = 64;  // blocks are multiples of it, and aligned to it
constexpr int kSizes = static_cast<int>(kMostPooledBytes / kGrain);
constexpr size_t kSpanBytes = 16384;
constexpr int kSpans = static_cast<int>(kPoolBytes / kSpanBytes);

Counter bytes_taken("pool.bytes");  // of the region; never falls

// What a block holds while it is free.
struct FreeBlockLink {
  FreeBlockLink* next;        // in its list or chain
  FreeBlockLink* next_chain;  // in a shared list, for the first block of a chain
  int count;                  // of the chain's blocks, for its first block
};

// A thread's free blocks of one size.
struct FreeList {
  FreeBlockLink* first;
  int count;
};

// A size number `size` means blocks of (size + 1) * kGrain bytes.
int SizeOf(size_t bytes) {
  return bytes == 0 ? 0 : static_cast<int>((bytes + kGrain - 1) / kGrain) - 1;
}
size_t BytesOf(int size) { return (size + 1) * kGrain; }

// The number of blocks in a chain: those of a span, but at most 32, enough to amortise the lock.
int ChainLength(int size) {
  return static_cast<int>(std::min<size_t>(kSpanBytes / BytesOf(size), 32));
}

// The free blocks that are in no thread's list, and the spans.
class SharedBlocks {
 public:
  SharedBlocks() {
    void* const region = mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return;
    begin_ = static_cast<char*>(region);
    end_ = begin_ + kPoolBytes;
  }

  bool Owns(const void* block) const { return block >= begin_ && block < end_; }
  // Requires: Owns(block).
  int SizeOfBlock(const void* block) const {
    return size_of_span_[(static_cast<const char*>(block) - begin_) / kSpanBytes];
  }

  // A chain of blocks, or nullptr if there are none.
  FreeBlockLink* Take(int size) {
    if (none_left_[size].load(std::memory_order_relaxed)) return nullptr;
    MutexLock lock(&mu_);
    if (chains_[size] == nullptr && begin_ != nullptr && spans_ < kSpans) Divide(size);
    FreeBlockLink* const chain = chains_[size];
    if (chain == nullptr) {
      none_left_[size].store(true, std::memory_order_relaxed);
    } else {
      chains_[size] = chain->next_chain;
    }
    return chain;
  }

  void Put(int size, FreeBlockLink* chain, int count) {
    chain->count = count;
    MutexLock lock(&mu_);
    chain->next_chain = chains_[size];
    chains_[size] = chain;
    none_left_[size].store(false, std::memory_order_relaxed);
  }

  // Called around a fork, so that the lists are consistent in the child. The child gets a new lock,
  // because the old one may refer to waiting threads that the child does not have. Not analysed,
  // because one function locks and others unlock.
  void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_.Lock(); }
  void UnlockInParent() ABSL_NO_THREAD_SAFETY_ANALYSIS { mu_.Unlock(); }
  void RenewLockInChild() ABSL_NO_THREAD_SAFETY_ANALYSIS { new (&mu_) Mutex; }

 private:
  // Divides an unused span into chains of blocks.
  void Divide(int size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    char* const span = begin_ + kSpanBytes * spans_;
    const size_t bytes = BytesOf(size);
    const int blocks = static_cast<int>(kSpanBytes / bytes);
    size_of_span_[spans_++] = static_cast<uint8_t>(size);
    bytes_taken.Add(kSpanBytes);
    for (int end = blocks; end > 0;) {
      const int begin = std::max(0, end - ChainLength(size));
      FreeBlockLink* first = nullptr;
      for (int i = end - 1; i >= begin; --i) {
        first = new (span + i * bytes) FreeBlockLink{first, chains_[size], end - begin};
      }
      chains_[size] = first;
      end = begin;
    }
  }

  char* begin_ = nullptr;
  char* end_ = nullptr;
  // Written before the first block of a span is handed out, never changed.
  uint8_t size_of_span_[kSpans];
  // By size: no free block and no span is left. Read without the lock, so that allocations do not
  // take the lock in vain once the spans are used up.
  std::atomic<bool> none_left_[kSizes] = {};
  Mutex mu_;
  int spans_ ABSL_GUARDED_BY(mu_) = 0;  // in use
  FreeBlockLink* chains_[kSizes] ABSL_GUARDED_BY(mu_) = {};
};
static_assert(kSizes <= 256, "a span's size is kept in a byte");

// Never destroyed: blocks may be freed until the process ends.
SharedBlocks& Shared() {
  static SharedBlocks* const shared = [] {
    auto* const made = new SharedBlocks;
    pthread_atfork([] { Shared().LockForFork(); }, [] { Shared().UnlockInParent(); },
                   [] { Shared().RenewLockInChild(); });
    return made;
  }();
  return *shared;
}

// Zero-initialised, so that no code runs at the start of a thread.
thread_local FreeList lists[kSizes];
thread_local bool ended;  // the thread is ending: its blocks have been given back

// Gives back a thread's blocks when the thread ends. Calling Arrange() constructs the thread's
// object, if that was not done before.
struct GiveBack {
  ~GiveBack() {
    for (int size = 0; size < kSizes; ++size) {
      if (lists[size].count > 0) Shared().Put(size, lists[size].first, lists[size].count);
      lists[size] = {};
    }
    ended = true;
  }
  void Arrange() {}
};
thread_local GiveBack give_back;

// Fills the empty `list` with a chain of shared blocks; false if there are none.
bool Fill(FreeList* list, int size) {
  FreeBlockLink* const chain = Shared().Take(size);
  if (chain == nullptr) return false;
  *list = {chain, chain->count};
  return true;
}

// Moves a chain from `list` to the shared blocks.
void PassOn(FreeList* list, int size) {
  FreeBlockLink* const chain = list->first;
  FreeBlockLink* last = chain;
  const int count = ChainLength(size);
  for (int i = 1; i < count; ++i) last = last->next;
  *list = {last->next, list->count - count};
  last->next = nullptr;
  Shared().Put(size, chain, count);
}

// Made when the library is loaded, so that no fork happens while it is being made.
[[maybe_unused]] const SharedBlocks& made_early = Shared();

}  // namespace

bool IsPooled(const void* block) { return kPools && Shared().Owns(block); }

void* TakePooledBlock(size_t bytes) {
  if (!kPools || bytes > kMostPooledBytes) return nullptr;
  const int size = SizeOf(bytes);
  FreeList& list = lists[size];
  if (list.count == 0) {
    if (!Fill(&list, size)) return nullptr;
    if (ended) {
      FreeBlockLink* const only = list.first;
      if (list.count > 1) Shared().Put(size, only->next, list.count - 1);
      list = {};
      return only;
    }
    give_back.Arrange();
  }
  FreeBlockLink* const block = list.first;
  list = {block->next, list.count - 1};
  return block;
}

void* AllocateBlock(size_t bytes) {
  void* const block = TakePooledBlock(bytes);
  return block != nullptr ? block : ::operator new(bytes, std::align_val_t{kGrain});
}

void FreeBlock(void* block) noexcept {
  if (!IsPooled(block)) return ::operator delete(block, std::align_val_t{kGrain});
  const int size = Shared().SizeOfBlock(block);
  FreeList& list = lists[size];
  auto* const link = new (block) FreeBlockLink{list.first, nullptr, 0};
  if (ended) return Shared().Put(size, link, 1);
  if (list.count == 0) give_back.Arrange();
  list = {link, list.count + 1};
  if (list.count >= 2 * ChainLength(size)) PassOn(&list, size);
}

}  // namespace tensor_array_grad
