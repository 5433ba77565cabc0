#include "cc/base/release.h"

#include <new>
#include <utility>
#include <vector>

namespace tensor_array_grad {
namespace {

// The tensors that this thread's outermost call has yet to release; null outside of a call.
thread_local std::vector<Tensor>* waiting = nullptr;

}  // namespace

void Release(Tensor tensor) {
  if (waiting != nullptr) {
    try {
      waiting->push_back(std::move(tensor));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
      // `tensor` is released now, one level deeper in the stack.
    }
    return;
  }
  std::vector<Tensor> all;
  waiting = &all;
  {
    const Tensor first = std::move(tensor);
  }
  while (!all.empty()) {
    const Tensor last = std::move(all.back());
    all.pop_back();
  }
  waiting = nullptr;
}

}  // namespace tensor_array_grad
