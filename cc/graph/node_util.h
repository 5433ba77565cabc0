#ifndef CC_GRAPH_NODE_UTIL_H_
#define CC_GRAPH_NODE_UTIL_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"

namespace tensor_array_grad {

// A data input: an output slot of a node.
struct Source {
  tensorflow::Node* node;
  int slot;

  bool operator==(const Source& other) const { return node == other.node && slot == other.slot; }
};

// What feeds input `index` of `node`, or a null node where nothing does.
Source InputOf(const tensorflow::Node& node, int index);

// Whether `node` is an Enter that brings a constant into a loop: a value that all iterations share.
bool IsConstantEnter(const tensorflow::Node& node);

// Whether `node` has exactly one outgoing edge, and that one is data. A control edge counts as a
// consumer: whoever waits for the node would lose what it waits for.
bool HasOneConsumer(const tensorflow::Node& node);

// Whether a node other than the sink waits for `node` by a control edge.
bool IsWaitedFor(const tensorflow::Node& node);

// Whether all that `node` waits for, but the source, is `allowed`.
bool WaitsOnlyFor(const tensorflow::Node& node,
                  absl::FunctionRef<bool(const tensorflow::Node&)> allowed);

// Whether no node but the source has a control edge to `node`.
bool WaitsForNothing(const tensorflow::Node& node);

// Whether `node` is a constant; its value.
bool ConstantOf(const tensorflow::Node& node, tensorflow::Tensor* value);

// Whether all of its bytes are 0: plain numbers that are +0.
bool IsZero(const tensorflow::Tensor& tensor);

// Whether both ops are for lists of elements of one dtype.
bool SameElementType(const tensorflow::Node& a, const tensorflow::Node& b);

// Whether both nodes were placed on the same, known device.
bool OnSameDevice(const tensorflow::Node& a, const tensorflow::Node& b);

// Whether the device of `node` has a kernel for `def`.
bool HasKernelOnDeviceOf(const tensorflow::Node& node, const tensorflow::NodeDef& def);

// Adds the node that `def` describes, but for its inputs, on the device of `place`, fed by `inputs`
// in order and waiting for all that the nodes of `replaced` wait for; errors name `place` as the
// user knows it and the line of Python that made it. Nothing is removed.
absl::StatusOr<tensorflow::Node*> AddReplacement(tensorflow::NodeDef def,
                                                 absl::Span<const Source> inputs,
                                                 const tensorflow::Node& place,
                                                 absl::Span<tensorflow::Node* const> replaced,
                                                 tensorflow::Graph* graph);

// Whether any node but the sink consumes `node` or waits for it.
bool IsUsed(const tensorflow::Node& node);

// Removes `node` if nothing consumes it or waits for it.
void RemoveIfUnused(tensorflow::Node* node, tensorflow::Graph* graph);

// The same for each of `nodes` in order, which may name one several times.
void RemoveUnused(const std::vector<tensorflow::Node*>& nodes, tensorflow::Graph* graph);

// Makes all that consume output `slot` of `from` consume `to`.
absl::Status MoveOutput(tensorflow::Node* from, int slot, Source to, tensorflow::Graph* graph);

// Makes all that wait for `from` wait for `to`.
void MoveWaits(tensorflow::Node* from, tensorflow::Node* to, tensorflow::Graph* graph);

// Makes every consumer of `from`, data or control, a consumer of `to`. Requires: of outputs, only
// the first of each is read.
absl::Status MoveConsumers(tensorflow::Node* from, tensorflow::Node* to, tensorflow::Graph* graph);

// Puts `to` in the place of `from`: moves its consumers, removes it, and then those of `feeding`,
// in order, that nothing uses any more. Requires the same.
absl::Status Replace(tensorflow::Node* from, tensorflow::Node* to,
                     const std::vector<tensorflow::Node*>& feeding, tensorflow::Graph* graph);

// Appends `source` to the inputs of `def` by name.
void AddInput(Source source, tensorflow::NodeDef* def);

// Starts a NodeDef whose inputs are `inputs` by name, as builders want them.
tensorflow::NodeDefBuilder StartNode(const std::string& name, const char* op,
                                     absl::Span<const Source> inputs);

}  // namespace tensor_array_grad

#endif  // CC_GRAPH_NODE_UTIL_H_
