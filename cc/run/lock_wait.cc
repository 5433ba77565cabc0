#include "cc/run/lock_wait.h"

#include <utility>

namespace tensor_array_grad {

void LockWait::Start(tensorflow::AsyncOpKernel* kernel) noexcept {
  kernel->ComputeAsync(&ctx_, [end = end_] {
    if (end->is_set.exchange(true)) end->go_on();
  });
}

// As soon as `is_set` is set, another thread may go on and destroy this object.
void LockWait::CallAfterEnd(std::function<void()> go_on) {
  const std::shared_ptr<End> end = end_;
  end->go_on = std::move(go_on);
  if (end->is_set.exchange(true)) end->go_on();
}

}  // namespace tensor_array_grad
