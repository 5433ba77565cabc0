#ifndef CC_TESTING_FAILING_MEMORY_H_
#define CC_TESTING_FAILING_MEMORY_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>

#include "absl/status/status.h"

namespace tensor_array_grad {

// Whether the allocation that this thread is about to make has to fail; counts it. For fakes of
// other allocators. failing_memory.cc, which a test links, replaces operator new by one that calls
// this.
bool AllocationFails();

// How many allocations this thread made by operator new, less those that it freed.
int64_t LiveAllocations();

// Makes allocation number `n` of one call fail, counted from 0: only this one, or this one and all
// later ones. Test-only.
class FailingMemory {
 public:
  enum Mode { kOne, kAllFrom };
  enum Callers { kAnyCode, kOurCode };  // whose allocations fail; kOurCode: the test program's
  FailingMemory(Mode mode, int64_t n, Callers callers = kAnyCode)
      : mode_(mode), n_(n), callers_(callers) {}

  // Runs `call`, which returns a Status, and returns whether it succeeded. Only allocations of
  // `call` fail. The test fails if `call` fails with anything but std::bad_alloc or
  // ResourceExhausted.
  template <typename Call>
  bool Run(Call call) {
    absl::Status status;
    bool thrown = false;
    Arm();
    try {
      status = call();
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    Disarm();
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    return status.ok() && !thrown;
  }

  // The same. If `call` did not succeed, `unchanged` checks the state that it left, and then a
  // second call must succeed.
  template <typename Call, typename Unchanged>
  void RunAndRepeat(Call call, Unchanged unchanged) {
    if (Run(call)) return;
    unchanged();
    const absl::Status again = call();
    EXPECT_TRUE(again.ok()) << again;
  }

  // Whether an allocation of the call failed.
  bool failed() const { return failed_; }

 private:
  void Arm();
  void Disarm();

  const Mode mode_;
  const int64_t n_;
  const Callers callers_;
  bool failed_ = false;
};

// Takes all free blocks of the pool (cc/base/block_pool.h), so that later blocks come from operator
// new.
void ExhaustPool();

// Calls scene(memory) repeatedly, with memory that fails at the first allocation, at the second,
// and so on until there are no more, in both modes. A scene makes what it needs, calls memory.Run
// once, and destroys everything: no allocation may remain, unless `may_leak`.
//
// Some functions of TensorFlow are not exception-safe: OpKernelContext::allocate_output leaks a
// Tensor, and a ResourceMgr is unusable afterwards. A test that calls these lets only allocations
// of the test's program fail, or allows leaks.
template <typename Scene>
void AtEachAllocation(Scene scene, FailingMemory::Callers callers = FailingMemory::kAnyCode,
                      bool may_leak = false) {
  ExhaustPool();
  constexpr int64_t kNever = int64_t{1} << 60;
  for (int warm_up = 0; warm_up < 2; ++warm_up) {  // allocates what a process makes only once
    FailingMemory enough(FailingMemory::kOne, kNever);
    scene(enough);
  }
  for (const auto mode : {FailingMemory::kOne, FailingMemory::kAllFrom}) {
    bool failed = true;
    for (int64_t n = 0; failed; ++n) {
      SCOPED_TRACE("allocation " + std::to_string(n) + (mode == FailingMemory::kOne ? "" : " on"));
      const int64_t before = LiveAllocations();
      FailingMemory memory(mode, n, callers);
      scene(memory);
      EXPECT_TRUE(may_leak || LiveAllocations() == before) << LiveAllocations() - before;
      failed = memory.failed();
      EXPECT_TRUE(failed || n > 0) << "the call allocates nothing";
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace tensor_array_grad

#endif  // CC_TESTING_FAILING_MEMORY_H_
