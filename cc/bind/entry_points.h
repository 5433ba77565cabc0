#ifndef CC_BIND_ENTRY_POINTS_H_
#define CC_BIND_ENTRY_POINTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "tensor_array_grad/introspection.h"

// Functions for a C++ program that opens the op library with dlopen. They have C linkage, so that
// dlsym finds them by plain names.
extern "C" {

TAG_EXPORT void tensor_array_grad_activation(tensor_array_grad::introspection::Decision* decision);
TAG_EXPORT void tensor_array_grad_counters(std::map<std::string, int64_t>* counters);

}  // extern "C"

#endif  // CC_BIND_ENTRY_POINTS_H_
