#include "cc/core/mutable_tensors.h"

#include <atomic>

namespace tensor_array_grad {
namespace {

std::atomic<bool> noted{false};

}  // namespace

void NoteMutableTensors() { noted.store(true, std::memory_order_relaxed); }
bool HasMutableTensors() { return noted.load(std::memory_order_relaxed); }

}  // namespace tensor_array_grad
