// Replaces the global operator new of a test program.

#include "cc/testing/failing_memory.h"

#include <cstdlib>

#include "cc/base/block_pool.h"

extern "C" const char __executable_start, etext;  // from the linker: where the program's code is

namespace tensor_array_grad {
namespace {

// The state of one thread. While armed, each allocation counts `left` down; allocations fail when
// it is 0.
struct State {
  bool armed;
  bool one;   // only one allocation fails
  bool ours;  // only allocations by the program's own code fail
  bool failed;
  int64_t left;
  int64_t live;
};
thread_local State state;

bool IsOurs(const void* caller) { return caller >= &__executable_start && caller < &etext; }

void* Allocate(size_t bytes, size_t alignment, const void* caller) noexcept {
  if ((!state.ours || IsOurs(caller)) && AllocationFails()) return nullptr;
  void* block = nullptr;
  if (posix_memalign(&block, alignment, bytes == 0 ? 1 : bytes) != 0) return nullptr;
  ++state.live;
  return block;
}

void* AllocateOrThrow(size_t bytes, size_t alignment, const void* caller) {
  void* const block = Allocate(bytes, alignment, caller);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void Free(void* block) noexcept {
  if (block == nullptr) return;
  --state.live;
  free(block);
}

}  // namespace

bool AllocationFails() {
  if (!state.armed || state.left-- > 0) return false;
  if (state.failed && state.one) return false;
  state.failed = true;
  return true;
}

int64_t LiveAllocations() { return state.live; }

void FailingMemory::Arm() {
  state.one = mode_ == kOne;
  state.ours = callers_ == kOurCode;
  state.failed = false;
  state.left = n_;
  state.armed = true;
}

void FailingMemory::Disarm() {
  state.armed = false;
  failed_ = state.failed;
}

void ExhaustPool() {
  while (TakePooledBlock(0) != nullptr) continue;
}

}  // namespace tensor_array_grad

namespace {
constexpr size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
using tensor_array_grad::Allocate;
using tensor_array_grad::AllocateOrThrow;
using tensor_array_grad::Free;
constexpr size_t Of(std::align_val_t alignment) { return static_cast<size_t>(alignment); }
}  // namespace

void* operator new(size_t bytes) {
  return AllocateOrThrow(bytes, kDefault, __builtin_return_address(0));
}
void* operator new[](size_t bytes) {
  return AllocateOrThrow(bytes, kDefault, __builtin_return_address(0));
}
void* operator new(size_t bytes, std::align_val_t a) {
  return AllocateOrThrow(bytes, Of(a), __builtin_return_address(0));
}
void* operator new[](size_t bytes, std::align_val_t a) {
  return AllocateOrThrow(bytes, Of(a), __builtin_return_address(0));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes, kDefault, __builtin_return_address(0));
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes, kDefault, __builtin_return_address(0));
}
void* operator new(size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Allocate(bytes, Of(a), __builtin_return_address(0));
}
void* operator new[](size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Allocate(bytes, Of(a), __builtin_return_address(0));
}
void operator delete(void* block) noexcept { Free(block); }
void operator delete[](void* block) noexcept { Free(block); }
void operator delete(void* block, size_t) noexcept { Free(block); }
void operator delete[](void* block, size_t) noexcept { Free(block); }
void operator delete(void* block, std::align_val_t) noexcept { Free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { Free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { Free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { Free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { Free(block); }
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept { Free(block); }
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  Free(block);
}
void operator delete[](void* block, const std::nothrow_t&) noexcept { Free(block); }
