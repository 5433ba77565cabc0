#ifndef CC_FLOW_FUNCTION_SEARCH_H_
#define CC_FLOW_FUNCTION_SEARCH_H_

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tensor_array_grad {

// The functions that `node` names in its attributes. There is one more if its op is the name of a
// function.
std::vector<std::string> FunctionsNamedBy(const tensorflow::NodeDef& node);

// Searches nodes, and the functions that they name in an attribute or by their op, for a node with
// a property. Each function is searched once.
class FunctionSearch {
 public:
  using Property = std::function<bool(const tensorflow::NodeDef&)>;

  // `functions`, null if there are none, must outlive the search.
  FunctionSearch(const tensorflow::FunctionLibraryDefinition* functions, Property property);

  // Returns `node` if it has the property, or else the first node with it in the functions that
  // were not searched before; null if there is none.
  const tensorflow::NodeDef* Find(const tensorflow::NodeDef& node);

 private:
  const tensorflow::NodeDef* FindInFunction(const std::string& name);

  const tensorflow::FunctionLibraryDefinition* const functions_;
  const Property property_;
  std::unordered_set<std::string> seen_;
};

}  // namespace tensor_array_grad

#endif  // CC_FLOW_FUNCTION_SEARCH_H_
