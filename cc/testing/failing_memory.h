#ifndef CC_TESTING_FAILING_MEMORY_H_
#define CC_TESTING_FAILING_MEMORY_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>

#include "absl/status/status.h"

namespace tensor_array_grad {

// Whether the next allocation by this thread has to fail, which counts as one. For fakes of other
// allocators; failing_memory.cc, which a test links, replaces operator new by one that asks this.
bool AllocationFails();

// How many allocations of this thread by operator new live on.
int64_t LiveAllocations();

// Memory of which one call finds allocation number `n` to fail, counted from 0: this one only, or
// this one and all later ones. Test-only.
class FailingMemory {
 public:
  enum Mode { kOne, kAllFrom };
  enum Callers { kAnyCode, kOurCode };  // whose allocations fail; ours: of the test's program
  FailingMemory(Mode mode, int64_t n, Callers callers = kAnyCode)
      : mode_(mode), n_(n), callers_(callers) {}

  // Runs `call`, which returns a Status, and says whether it succeeded. A failure of another kind
  // than std::bad_alloc and ResourceExhausted is one of the test. Only allocations of `call` fail.
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

  // The same, and where it did not succeed: `unchanged` checks what the call left, and a second
  // call has to succeed.
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

// Makes the blocks of the pool come from operator new from now on.
void ExhaustPool();

// Calls scene(memory) with memory that fails at the first allocation, at the second, and so on
// until there are no more, in both modes. A scene makes what it needs, calls memory.Run once, and
// destroys all again: no allocation may live on, unless `may_leak`.
//
// Some functions of TensorFlow do not expect an exception: OpKernelContext::allocate_output leaks a
// Tensor, ResourceMgr is broken afterwards. A test that calls these lets only allocations of our
// code fail, or lets TensorFlow leak.
template <typename Scene>
void AtEachAllocation(Scene scene, FailingMemory::Callers callers = FailingMemory::kAnyCode,
                      bool may_leak = false) {
  ExhaustPool();
  constexpr int64_t kNever = int64_t{1} << 60;
  for (int warm_up = 0; warm_up < 2; ++warm_up) {  // what is made once in a process
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
