#include "cc/core/ref_variables.h"

#include <atomic>

namespace tensor_array_grad {
namespace {

std::atomic<bool> noted{false};

}  // namespace

void NoteRefVariables() { noted.store(true, std::memory_order_relaxed); }
bool HasRefVariables() { return noted.load(std::memory_order_relaxed); }

}  // namespace tensor_array_grad
