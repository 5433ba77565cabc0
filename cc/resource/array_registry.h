#ifndef CC_RESOURCE_ARRAY_REGISTRY_H_
#define CC_RESOURCE_ARRAY_REGISTRY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cc/base/tensorflow_names.h"

namespace tensor_array_grad {

// What `status()` shows of an array that still exists.
struct ArrayDescription {
  std::string name;  // the resource name
  DataType dtype = DT_INVALID;
  int64_t size = 0;   // slots
  int64_t bytes = 0;  // of the elements held now
  bool is_gradient = false;
  std::map<std::string, std::string> gradients;  // source -> resource name
};

// All arrays that exist in this process, oldest first. Thread-safe; other threads may have changed
// the arrays by the time it returns.
std::vector<ArrayDescription> ExistingArrays();

}  // namespace tensor_array_grad

#endif  // CC_RESOURCE_ARRAY_REGISTRY_H_
