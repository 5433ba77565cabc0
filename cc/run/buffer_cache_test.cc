#include "cc/run/buffer_cache.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/block_pool.h"

namespace tensor_array_grad {
namespace {

using tensorflow::AllocationAttributes;
using tensorflow::Allocator;

// Counts the calls of the cache, and has memory for `room` bytes.
class CountingAllocator : public Allocator {
 public:
  std::string Name() override { return "counting"; }
  void* AllocateRaw(size_t alignment, size_t bytes) override {
    if (bytes > room) return nullptr;
    ++allocated;
    last_bytes = bytes;
    void* const buffer =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    room -= malloc_usable_size(buffer);
    return buffer;
  }
  void DeallocateRaw(void* buffer) override {
    if (on_free) std::exchange(on_free, nullptr)();
    ++freed;
    room += malloc_usable_size(buffer);
    std::free(buffer);
  }

  std::atomic<int64_t> allocated{0}, freed{0};
  std::atomic<size_t> last_bytes{0};
  std::atomic<size_t> room{size_t{1} << 40};
  std::function<void()> on_free;  // called once, by the next DeallocateRaw
};

class BufferCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kPools) GTEST_SKIP() << "AddressSanitizer keeps freed buffers apart";
  }

  void* Allocate(size_t bytes, size_t alignment = 64) {
    void* const buffer = cache_.Allocate(alignment, bytes, AllocationAttributes());
    if (buffer == nullptr) return nullptr;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % alignment, 0u) << bytes;
    std::memset(buffer, 1, bytes);
    return buffer;
  }

  // Never destroyed: the cache keeps buffers.
  CountingAllocator& underlying_ = *new CountingAllocator;
  BufferCache& cache_ = *new BufferCache(&underlying_);
};

TEST_F(BufferCacheTest, BufferIsUsedAgainForItsSize) {
  void* const buffer = Allocate(16384);
  cache_.Free(buffer);
  EXPECT_EQ(Allocate(16384), buffer);
  EXPECT_EQ(underlying_.allocated, 1);
  EXPECT_EQ(underlying_.freed, 0);
}

TEST_F(BufferCacheTest, BufferIsUsedAgainByAnotherThread) {
  void* buffer = Allocate(100'000);
  std::thread([&] { cache_.Free(std::exchange(buffer, nullptr)); }).join();
  void* const again = Allocate(100'000);
  EXPECT_EQ(underlying_.allocated, 1);
  cache_.Free(again);
}

// Many buffers are held at the same time, and in the second round most come from the cache. If one
// were too small, writing to it would change its neighbour.
TEST_F(BufferCacheTest, EverySizeHasRoom) {
  std::vector<std::pair<unsigned char*, size_t>> held;
  for (int round = 0; round < 2; ++round) {
    for (size_t bytes = 1; bytes <= kMostCachedBuffer; bytes += 1 + bytes / 50) {
      held.emplace_back(static_cast<unsigned char*>(Allocate(bytes)), bytes);
      std::memset(held.back().first, static_cast<int>(held.size() % 251), bytes);
    }
    for (size_t i = 0; i < held.size(); ++i) {
      const auto [buffer, bytes] = held[i];
      ASSERT_EQ(buffer[0], (i + 1) % 251) << bytes;
      ASSERT_EQ(buffer[bytes - 1], (i + 1) % 251) << bytes;
      cache_.Free(buffer);
    }
    held.clear();
  }
}

TEST_F(BufferCacheTest, SizeIsAtMostAnEighthLarger) {
  constexpr size_t kHeader = 64;
  for (size_t bytes = 4096; bytes <= kMostCachedBuffer; bytes += 1 + bytes / 500) {
    Allocate(bytes);
    EXPECT_GE(underlying_.last_bytes, bytes + kHeader);
    EXPECT_LE(underlying_.last_bytes, bytes + bytes / 8 + kHeader);
  }
}

TEST_F(BufferCacheTest, SmallAndLargeBuffersAreNeitherRoundedNorKept) {
  int freed = 0;
  for (const size_t bytes :
       {size_t{0}, size_t{32}, kLeastCachedBuffer - 1, kMostCachedBuffer + 1}) {
    cache_.Free(Allocate(bytes));
    EXPECT_EQ(underlying_.last_bytes, bytes + 64);
    EXPECT_EQ(underlying_.freed, ++freed);
  }
}

TEST_F(BufferCacheTest, BuffersOfLargerAlignmentAreAlignedAndNotCached) {
  cache_.Free(Allocate(5'000, 4096));
  EXPECT_EQ(underlying_.freed, 1);
}

TEST_F(BufferCacheTest, GivesAllBackWhenItsLimitIsExceeded) {
  std::vector<void*> buffers;
  const int fit = static_cast<int>(kMostCachedBytes / kMostCachedBuffer);
  for (int i = 0; i < fit + 1; ++i) buffers.push_back(Allocate(kMostCachedBuffer));
  for (int i = 0; i < fit; ++i) cache_.Free(buffers[i]);
  EXPECT_EQ(underlying_.freed, 0);
  cache_.Free(buffers[fit]);
  EXPECT_EQ(underlying_.freed, fit + 1);
  cache_.Free(Allocate(kMostCachedBuffer));
  EXPECT_EQ(underlying_.freed, fit + 1);
}

TEST_F(BufferCacheTest, ABufferThatIsUsedAgainDoesNotCountTwice) {
  for (size_t freed = 0; freed < 3 * kMostCachedBytes; freed += kMostCachedBuffer) {
    cache_.Free(Allocate(kMostCachedBuffer));
  }
  EXPECT_EQ(underlying_.allocated, 1);
}

TEST_F(BufferCacheTest, GiveBackAllFreesEachFreeBuffer) {
  std::vector<void*> buffers;
  for (const size_t bytes : {4'096, 5'000, 5'000, 100'000}) buffers.push_back(Allocate(bytes));
  void* const used = Allocate(5'000);
  for (void* buffer : buffers) cache_.Free(buffer);
  EXPECT_TRUE(cache_.GiveBackAll());
  EXPECT_EQ(underlying_.freed, 4);
  EXPECT_FALSE(cache_.GiveBackAll());
  cache_.Free(used);
  EXPECT_EQ(Allocate(5'000), used);
}

TEST_F(BufferCacheTest, OtherThreadsUseTheCacheWhileBuffersAreGivenBack) {
  cache_.Free(Allocate(8'192));
  underlying_.on_free = [this] {
    std::thread([this] {
      void* const buffer = Allocate(8'192);
      cache_.Free(buffer);
      EXPECT_EQ(Allocate(8'192), buffer);
    }).join();
  };
  EXPECT_TRUE(cache_.GiveBackAll());
  EXPECT_EQ(underlying_.allocated, 2);
  EXPECT_EQ(underlying_.freed, 1);
}

// Two threads of a loop use the cache at the same time in every iteration. If a call used the
// underlying allocator whenever the other thread has the lock, the cache would grow with each run.
TEST_F(BufferCacheTest, ThreadsRarelyUseTheUnderlyingAllocator) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "the threads must run at once";
  constexpr int kRounds = 200'000;
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([this, &started] {
      for (++started; started < 2;) std::this_thread::yield();
      for (int i = 0; i < kRounds; ++i) {
        cache_.Free(cache_.Allocate(64, 8'192, AllocationAttributes()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(underlying_.allocated, kRounds / 10);
}

TEST_F(BufferCacheTest, OutOfMemoryIsReported) {
  underlying_.room = 0;
  EXPECT_EQ(Allocate(8'192), nullptr);
}

TEST_F(BufferCacheTest, FreeBuffersAreGivenBackBeforeMemoryRunsOut) {
  underlying_.room = 20'000;
  cache_.Free(Allocate(8'192));
  void* const larger = Allocate(16'384);
  EXPECT_NE(larger, nullptr);
  EXPECT_EQ(underlying_.freed, 1);
  EXPECT_EQ(Allocate(8'192), nullptr);
}

TEST_F(BufferCacheTest, SizeThatLeavesNoRoomForTheHeaderIsRefused) {
  const size_t most = std::numeric_limits<size_t>::max();
  for (const size_t bytes : {most, most - 63}) {
    EXPECT_EQ(cache_.Allocate(64, bytes, AllocationAttributes()), nullptr);
  }
  EXPECT_EQ(underlying_.allocated, 0);
}

TEST_F(BufferCacheTest, FreeOfNullDoesNothing) { cache_.Free(nullptr); }

TEST_F(BufferCacheTest, ThreadsNeverShareABuffer) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 2'000; ++i) {
        auto* const buffer = static_cast<int*>(Allocate(5'000 + 100 * (i % 7)));
        buffer[0] = buffer[1'200] = t;
        std::this_thread::yield();
        EXPECT_EQ(buffer[0], t);
        EXPECT_EQ(buffer[1'200], t);
        cache_.Free(buffer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// In some of the children the lock is held by a thread that does not exist there.
TEST_F(BufferCacheTest, WorksInAForkedChild) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) cache_.Free(cache_.Allocate(64, 8'192, AllocationAttributes()));
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // ends a child that waits forever
      void* const buffer = Allocate(8'192);
      cache_.Free(buffer);
      _exit(buffer == nullptr ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  done = true;
  other.join();
}

}  // namespace
}  // namespace tensor_array_grad
