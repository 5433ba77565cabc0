#ifndef CC_FLOW_FUNCTION_SEARCH_H_
#define CC_FLOW_FUNCTION_SEARCH_H_

#include <string>
#include <unordered_set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "cc/flow/graph_names.h"
#include "tensorflow/core/framework/function.h"

namespace tensor_array_grad {

// The functions that `node` names in its attributes. There is one more if its op is the name of a
// function.
std::vector<std::string> FunctionsNamedBy(const NodeDef& node);

using FunctionNames = std::unordered_set<std::string>;

// Returns `node` if `has` is true for it, or else the first such node in the functions of
// `functions` (null: none) that it names, at any depth, in an attribute or by its op; null if there
// is none. Searches no function in `seen`, and adds those that it searches.
const NodeDef* FindReachable(const NodeDef& node,
                             const tensorflow::FunctionLibraryDefinition* functions,
                             absl::FunctionRef<bool(const NodeDef&)> has, FunctionNames* seen);

}  // namespace tensor_array_grad

#endif  // CC_FLOW_FUNCTION_SEARCH_H_
