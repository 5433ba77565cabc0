#include "cc/flow/function_search.h"

#include <utility>

#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tensor_array_grad {

using tensorflow::NodeDef;

std::vector<std::string> FunctionsNamedBy(const NodeDef& node) {
  std::vector<std::string> names;
  for (const auto& [name, value] : node.attr()) {
    if (value.has_func()) names.push_back(value.func().name());
    for (const auto& function : value.list().func()) names.push_back(function.name());
  }
  return names;
}

FunctionSearch::FunctionSearch(const tensorflow::FunctionLibraryDefinition* functions,
                               Property property)
    : functions_(functions), property_(std::move(property)) {}

const NodeDef* FunctionSearch::Find(const NodeDef& node) {
  if (property_(node)) return &node;
  const NodeDef* found = FindInFunction(node.op());
  for (const std::string& name : FunctionsNamedBy(node)) {
    if (found == nullptr) found = FindInFunction(name);
  }
  return found;
}

const NodeDef* FunctionSearch::FindInFunction(const std::string& name) {
  const tensorflow::FunctionDef* const function =
      functions_ == nullptr ? nullptr : functions_->Find(name);
  if (function == nullptr || !seen_.insert(name).second) return nullptr;
  for (const NodeDef& node : function->node_def()) {
    if (const NodeDef* const found = Find(node)) return found;
  }
  return nullptr;
}

}  // namespace tensor_array_grad
