#ifndef CC_BASE_MUTEX_H_
#define CC_BASE_MUTEX_H_

// The locks of the library: Abseil's, which are part of TensorFlow's library.
//
// A ThreadSanitizer build has the standard library's instead. Abseil's code in the wheel is not
// instrumented, so ThreadSanitizer would not see the order that these locks establish.

#include "absl/base/thread_annotations.h"

#ifdef TAG_SANITIZED_THREADS

#include <condition_variable>
#include <mutex>

namespace tensor_array_grad {

class Mutex {
 public:
  void Lock() { mu_.lock(); }
  void Unlock() { mu_.unlock(); }
  bool TryLock() { return mu_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class MutexLock {
 public:
  explicit MutexLock(Mutex* mu) : mu_(mu) { mu_->Lock(); }
  ~MutexLock() { mu_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mu_;
};

class CondVar {
 public:
  void Wait(Mutex* mu) {
    std::unique_lock<std::mutex> lock(mu->mu_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }
  void SignalAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace tensor_array_grad

#else

#include "absl/synchronization/mutex.h"

namespace tensor_array_grad {

using absl::CondVar;
using absl::Mutex;
using absl::MutexLock;

}  // namespace tensor_array_grad

#endif

#endif  // CC_BASE_MUTEX_H_
