#include "cc/run/lock_wait.h"

#include <utility>

namespace tensor_array_grad {

void LockWait::Start(tensorflow::AsyncOpKernel* kernel) noexcept {
  kernel->ComputeAsync(&ctx_, [end = end_] {
    std::function<void()> go_on;
    {
      MutexLock lock(&end->mu);
      end->has_ended = true;
      go_on = std::move(end->go_on);
    }
    if (go_on) go_on();
  });
}

// As soon as the mutex is unlocked, another thread may go on and destroy this object.
void LockWait::CallAfterEnd(std::function<void()> go_on) {
  const std::shared_ptr<End> end = end_;
  {
    MutexLock lock(&end->mu);
    if (!end->has_ended) {
      end->go_on = std::move(go_on);
      return;
    }
  }
  go_on();
}

}  // namespace tensor_array_grad
