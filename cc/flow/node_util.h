#ifndef CC_FLOW_NODE_UTIL_H_
#define CC_FLOW_NODE_UTIL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cc/base/op_names.h"
#include "cc/base/tensorflow_names.h"
#include "cc/flow/graph_names.h"
#include "tensorflow/core/framework/node_def_builder.h"

namespace tensor_array_grad {

// One output of a node: what a data edge carries. The graph owns the node.
struct Source {
  Node* node;
  int slot;

  bool operator==(const Source& other) const { return node == other.node && slot == other.slot; }
};

// The output that feeds input `index` of `node`; its node is null if there is none.
// O(k) for k inputs.
Source InputOf(const Node& node, int index);

// InputOf for each input of `node`, in order. O(k).
std::vector<Source> InputsOf(const Node& node);

// The value that `source` is a copy of: follows Identity nodes backwards, but not to the ref tensor
// of a variable, which has different values at different times.
Source SkipIdentities(Source source);

// Whether `node` is an AddN.
bool IsAddN(const Node& node);

// Whether `node` decides if a loop runs another iteration.
bool IsLoopCond(const Node& node);

// Whether `node` is an Enter of a loop constant: a value that all iterations share.
bool IsConstantEnter(const Node& node);

// Whether `node` has exactly one outgoing edge, and that is a data edge. A control edge counts as a
// consumer, because the node at its end must still wait after a rewrite.
bool HasOneConsumer(const Node& node);

// Whether `node` has a control edge to a node other than the sink.
bool IsWaitedFor(const Node& node);

// Whether `allowed` is true for each node, other than the source, that has a control edge to
// `node`.
bool WaitsOnlyFor(const Node& node, absl::FunctionRef<bool(const Node&)> allowed);

// Whether no node other than the source has a control edge to `node`.
bool WaitsForNothing(const Node& node);

// Whether `node` is a Const with a value of its dtype; if so, sets `value`.
bool ConstantOf(const Node& node, Tensor* value);

// Whether all bytes of `tensor` are 0. For plain numbers: whether all of them are +0.
bool IsZero(const Tensor& tensor);

// Whether both nodes have an attribute element_dtype, with the same value.
bool SameElementType(const Node& a, const Node& b);

// Whether both nodes were placed on the same, known device.
bool OnSameDevice(const Node& a, const Node& b);

// Whether the device of `node` has a kernel for `def`.
bool HasKernelOnDeviceOf(const Node& node, const NodeDef& def);

// Adds the node that `def` describes, on the device of `place`, and returns its output 0. Its data
// inputs are `inputs`, in order, instead of those in `def`. Its control inputs are those of all
// nodes in `replaced`. It gets the debug info and the stack trace of `place`, so that errors name
// the user's op and line of Python. Removes nothing. On error the graph may have the node
// without some of its edges: see ChangeOrRestore.
absl::StatusOr<Source> AddReplacement(NodeDef def, absl::Span<const Source> inputs,
                                      const Node& place, absl::Span<Node* const> replaced,
                                      Graph* graph);

// The same for the NodeDef that `builder` has built.
absl::StatusOr<Source> AddReplacement(tensorflow::NodeDefBuilder builder,
                                      absl::Span<const Source> inputs, const Node& place,
                                      absl::Span<Node* const> replaced, Graph* graph);

// A new name in `graph` that begins with the name of `node` and `what`.
std::string NewName(const Node& node, absl::string_view what, Graph* graph);

// Whether a node other than the sink has an edge, data or control, from `node`.
bool IsUsed(const Node& node);

// Whether the op of `node` is the name of a function.
bool IsFunctionCall(const Node& node);

// Whether a node reads output `slot` of `node`.
bool IsRead(const Node& node, int slot);

// Removes each of `nodes`, in order, if no node uses it (IsUsed). A node may be listed several
// times.
void RemoveUnused(const std::vector<Node*>& nodes, Graph* graph);

// Makes all data consumers of output `slot` of `from` read `to`.
absl::Status MoveOutput(Node* from, int slot, Source to, Graph* graph);

// Makes all nodes that have a control edge from `from` wait for `to` instead.
void MoveWaits(Node* from, Node* to, Graph* graph);

// Replaces `from` by `to`, which gets all outgoing edges of `from`, and removes `from` and then
// those nodes of `feeding`, in order, that no node uses any more. Requires: output 0 is the only
// output of `from` that is read; its readers get output 0 of `to`.
absl::Status Replace(Node* from, Node* to, const std::vector<Node*>& feeding, Graph* graph);

// Calls `change`, which may change `*graph`. If it returns an error or throws, `*graph` becomes a
// copy that was made before: it has the same nodes, attributes, devices, stack traces and edges,
// but pointers to nodes, and ids, are not those of before. Makes no change if there is no memory
// for the copy (std::bad_alloc). Returns the error of `change`; lets its exceptions pass.
absl::Status ChangeOrRestore(absl::FunctionRef<absl::Status()> change,
                             std::unique_ptr<Graph>* graph);

// Starts a NodeDef of `op` whose inputs are `inputs`.
tensorflow::NodeDefBuilder StartNode(const std::string& name, const char* op,
                                     absl::Span<const Source> inputs);

// `sources` for NodeDefBuilder::Input, as one input that is a list.
std::vector<tensorflow::NodeDefBuilder::NodeOut> NodeOuts(absl::Span<const Source> sources);

// The NodeDef that `builder` has built.
absl::StatusOr<NodeDef> Finalized(tensorflow::NodeDefBuilder& builder);

}  // namespace tensor_array_grad

#endif  // CC_FLOW_NODE_UTIL_H_
