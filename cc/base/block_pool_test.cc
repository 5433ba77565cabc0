#include "cc/base/block_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/mutex.h"

namespace tensor_array_grad {
namespace {

int64_t BytesTaken() { return ReadCounters()["pool.bytes"]; }

// Blocks of many sizes, each filled with one byte value that marks it.
class Blocks {
 public:
  explicit Blocks(int count) {
    for (int i = 0; i < count; ++i) {
      const size_t bytes = (i * 37) % (kMostPooledBytes + 500);
      void* const block = AllocateBlock(bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
      EXPECT_EQ(IsPooled(block), kPools && bytes <= kMostPooledBytes) << bytes;
      std::memset(block, i % 251, bytes);
      blocks_.emplace_back(block, bytes);
    }
  }
  // Frees the blocks, each of which must hold what was written.
  ~Blocks() {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const auto& [block, bytes] = blocks_[i];
      const auto* const values = static_cast<const unsigned char*>(block);
      const bool kept = bytes == 0 || (values[0] == i % 251 && values[bytes - 1] == i % 251);
      EXPECT_TRUE(kept) << i;
      FreeBlock(block);
    }
  }

 private:
  std::vector<std::pair<void*, size_t>> blocks_;
};

TEST(BlockPoolTest, BlocksOfAllSizesAreAlignedAndDistinct) { const Blocks blocks(10'000); }

TEST(BlockPoolTest, ThreadTakesTheBlockThatItFreedLast) {
  if (!kPools) GTEST_SKIP() << "AddressSanitizer keeps freed blocks apart";
  void* const block = AllocateBlock(100);
  FreeBlock(block);
  void* const next = AllocateBlock(128);
  EXPECT_EQ(next, block);
  FreeBlock(next);
}

TEST(BlockPoolTest, RepeatedWorkTakesNoMoreOfTheRegion) {
  {
    const Blocks blocks(5'000);
  }
  const int64_t before = BytesTaken();
  for (int i = 0; i < 20; ++i) const Blocks blocks(5'000);
  EXPECT_EQ(BytesTaken(), before);
}

TEST(BlockPoolTest, BlocksFreedByOtherThreadsAreUsedAgain) {
  const auto once = [] {
    auto* const made = new Blocks(2'000);
    std::thread([made] { delete made; }).join();
  };
  once();
  const int64_t before = BytesTaken();
  for (int i = 0; i < 50; ++i) once();
  EXPECT_EQ(BytesTaken(), before);
}

TEST(BlockPoolTest, ThreadsThatEndLeaveTheirBlocks) {
  const auto once = [] { std::thread([] { const Blocks blocks(2'000); }).join(); };
  once();
  const int64_t before = BytesTaken();
  for (int i = 0; i < 50; ++i) once();
  EXPECT_EQ(BytesTaken(), before);
}

TEST(BlockPoolTest, ThreadsWorkSideBySide) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 20; ++i) const Blocks blocks(1'000);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// An object that a thread destroys after its lists of blocks are gone.
struct Late {
  ~Late() {
    FreeBlock(block);
    FreeBlock(AllocateBlock(64));
  }
  void* block = nullptr;
};

TEST(BlockPoolTest, BlocksAreFreedWhileAThreadEnds) {
  for (int i = 0; i < 100; ++i) {
    std::thread([] {
      thread_local Late late;  // made before the thread's lists, so destroyed after them
      late.block = AllocateBlock(64);
    }).join();
  }
}

TEST(BlockPoolTest, AThreadThatEndsLeavesTheBlocksThatItDidNotTake) {
  if (!kPools) GTEST_SKIP() << "AddressSanitizer has no chains";
  constexpr size_t kBytes = 3000;  // of a size that no other thread has
  struct TakesOne {
    ~TakesOne() { FreeBlock(AllocateBlock(kBytes)); }
    void Touch() {}
  };
  std::thread([] {
    thread_local TakesOne late;
    late.Touch();
    FreeBlock(AllocateBlock(64));
  }).join();
  std::set<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.insert(AllocateBlock(kBytes));
  EXPECT_EQ(blocks.size(), 20u);
  for (void* block : blocks) {
    EXPECT_TRUE(IsPooled(block));
    FreeBlock(block);
  }
}

// Threads that allocate and free blocks until this object is destroyed.
class BusyThreads {
 public:
  explicit BusyThreads(int count) {
    for (int t = 0; t < count; ++t) {
      threads_.emplace_back([this] {
        while (!stop_) const Blocks blocks(300);
      });
    }
  }
  ~BusyThreads() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// Abseil measures the processor's frequency when a thread first waits for a lock. A child forked
// during the measurement would wait forever for its end, so this makes the calling thread wait.
void WaitForALock() {
  Mutex mu;
  std::atomic<bool> held{false};
  std::thread holder([&] {
    MutexLock lock(&mu);
    held = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });
  while (!held) std::this_thread::yield();
  {
    MutexLock lock(&mu);
  }
  holder.join();
}

TEST(BlockPoolTest, ChildForkedAmongBusyThreadsAllocatesOnSeveralThreads) {
  if (!kPools) GTEST_SKIP() << "the allocator of AddressSanitizer may be locked in a forked child";
#ifdef TAG_SANITIZED_THREADS
  GTEST_SKIP() << "under ThreadSanitizer a forked child can start no thread";
#endif
  WaitForALock();
  // Touched memory makes the fork slow, so that the other threads wait for the lock meanwhile.
  const std::vector<char> touched(size_t{100} << 20, 1);
  const BusyThreads busy(4);
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      {
        const BusyThreads inherited(3);
        const Blocks blocks(2'000);
      }
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
}

// The last test, because it uses up all spans for the rest of the process.
TEST(BlockPoolTest, BlocksComeFromTheCLibraryOnceAllSpansAreUsed) {
  if (!kPools) GTEST_SKIP() << "AddressSanitizer has no spans";
  std::vector<void*> blocks;
  for (size_t bytes = 0; bytes < kPoolBytes + (size_t{1} << 20); bytes += 4096) {
    blocks.push_back(AllocateBlock(4096));
    std::memset(blocks.back(), 1, 4096);
  }
  EXPECT_TRUE(IsPooled(blocks.front()));
  EXPECT_FALSE(IsPooled(blocks.back()));
  EXPECT_EQ(BytesTaken(), static_cast<int64_t>(kPoolBytes));
  const std::set<void*> distinct(blocks.begin(), blocks.end());
  EXPECT_EQ(distinct.size(), blocks.size());
  for (void* block : blocks) FreeBlock(block);
  void* const again = AllocateBlock(4096);
  EXPECT_TRUE(IsPooled(again));
  FreeBlock(again);
  FreeBlock(AllocateBlock(1984));  // a size that no test has used: no span is left for it
}

}  // namespace
}  // namespace tensor_array_grad
