#include "cc/flow/function_search.h"

#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tensor_array_grad {

std::vector<std::string> FunctionsNamedBy(const NodeDef& node) {
  std::vector<std::string> names;
  for (const auto& [name, value] : node.attr()) {
    if (value.has_func()) names.push_back(value.func().name());
    for (const auto& function : value.list().func()) names.push_back(function.name());
  }
  return names;
}

const NodeDef* FindReachable(const NodeDef& node,
                             const tensorflow::FunctionLibraryDefinition* functions,
                             absl::FunctionRef<bool(const NodeDef&)> has, FunctionNames* seen) {
  if (has(node)) return &node;
  if (functions == nullptr) return nullptr;
  std::vector<std::string> names = FunctionsNamedBy(node);
  names.insert(names.begin(), node.op());
  for (const std::string& name : names) {
    const tensorflow::FunctionDef* const function = functions->Find(name);
    if (function == nullptr || !seen->insert(name).second) continue;
    for (const NodeDef& inner : function->node_def()) {
      if (const NodeDef* const found = FindReachable(inner, functions, has, seen)) return found;
    }
  }
  return nullptr;
}

}  // namespace tensor_array_grad
