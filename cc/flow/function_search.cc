#include "cc/flow/function_search.h"

#include <utility>

#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.pb.h"

namespace tensor_array_grad {

using tensorflow::NodeDef;

FunctionSearch::FunctionSearch(const tensorflow::FunctionLibraryDefinition* functions,
                               Property property)
    : functions_(functions), property_(std::move(property)) {}

const NodeDef* FunctionSearch::Find(const NodeDef& node) {
  if (property_(node)) return &node;
  const NodeDef* found = FindInFunction(node.op());
  for (const auto& [name, value] : node.attr()) {
    if (found == nullptr && value.has_func()) found = FindInFunction(value.func().name());
    for (const auto& function : value.list().func()) {
      if (found == nullptr) found = FindInFunction(function.name());
    }
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
