#include "cc/bind/entry_points.h"

namespace introspection = tensor_array_grad::introspection;

void tensor_array_grad_activation(introspection::Decision* decision) {
  *decision = introspection::KernelDecision();
}

void tensor_array_grad_counters(std::map<std::string, int64_t>* counters) {
  *counters = introspection::Counters();
}
