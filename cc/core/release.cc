#include "cc/core/release.h"

#include <new>
#include <utility>
#include <vector>

namespace tensor_array_grad {
namespace {

using tensorflow::Tensor;

// What the outermost call of this thread has still to give up.
thread_local std::vector<Tensor>* waiting = nullptr;

}  // namespace

void Release(Tensor tensor) {
  if (waiting != nullptr) {
    try {
      waiting->push_back(std::move(tensor));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
      // `tensor` goes now, one level down.
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
