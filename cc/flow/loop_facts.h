#ifndef CC_FLOW_LOOP_FACTS_H_
#define CC_FLOW_LOOP_FACTS_H_

#include <string>

#include "cc/base/loop_record.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"

// What a person is told of a loop, and of the ops that the program made in it.
namespace tensor_array_grad {

// Where the program made the node `name` of `loop`, or of a loop in it or around it: from the names
// that TensorFlow keeps of inlined nodes or, for a node that an optimizer made, from its name.
// Empty for an empty name.
introspection::ProgramOp OriginOf(const std::string& name, const Frame& loop);

// Where the program made `node`, if TensorFlow keeps its names; otherwise the name that it has now.
introspection::ProgramOp OriginOf(const Node& node);

// What is known of `loop`, but for its id and where it runs.
introspection::Loop FactsOf(const Frame& loop);

}  // namespace tensor_array_grad

#endif  // CC_FLOW_LOOP_FACTS_H_
