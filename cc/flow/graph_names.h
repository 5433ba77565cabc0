#ifndef CC_FLOW_GRAPH_NAMES_H_
#define CC_FLOW_GRAPH_NAMES_H_

#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/graph.h"

// TensorFlow's names for graphs; see cc/base/tensorflow_names.h.
namespace tensor_array_grad {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

}  // namespace tensor_array_grad

#endif  // CC_FLOW_GRAPH_NAMES_H_
