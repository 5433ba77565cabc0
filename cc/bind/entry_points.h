#ifndef CC_BIND_ENTRY_POINTS_H_
#define CC_BIND_ENTRY_POINTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "cc/bind/introspection.h"

// What a C++ program asks of an op library that it has opened rather than linked: functions under
// names that dlsym finds without knowing how a compiler spells C++ names.
extern "C" {

TAG_EXPORT void tensor_array_grad_activation(tensor_array_grad::introspection::Decision* decision);
TAG_EXPORT void tensor_array_grad_counters(std::map<std::string, int64_t>* counters);

}  // extern "C"

#endif  // CC_BIND_ENTRY_POINTS_H_
