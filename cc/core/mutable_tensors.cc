#include "cc/core/mutable_tensors.h"

#include "cc/core/counters.h"

namespace tensor_array_grad {
namespace {

Counter noted("tensors.change_in_place");

}  // namespace

void NoteMutableTensors() { noted.Add(); }
bool HasMutableTensors() { return noted.value() != 0; }

}  // namespace tensor_array_grad
