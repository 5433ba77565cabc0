#include "cc/base/mutable_tensors.h"

#include "cc/base/counters.h"

namespace tensor_array_grad {
namespace {

Counter noted("tensors.change_in_place");

}  // namespace

void NoteMutableTensors() { noted.Add(); }
bool HasMutableTensors() { return noted.value() != 0; }

}  // namespace tensor_array_grad
