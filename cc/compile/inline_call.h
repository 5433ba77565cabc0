#ifndef CC_COMPILE_INLINE_CALL_H_
#define CC_COMPILE_INLINE_CALL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/flow/graph_names.h"
#include "tensorflow/core/framework/function.h"

// Puts the nodes of a called function in place of the call, in the program of a loop.
//
// The problem: TensorFlow leaves some calls in a loop as calls (loops.md, "Calls of functions").
// Their functions run in an executor, which costs more than a few small nodes. When the loop is
// compiled, the graph that the function will have is not known: TensorFlow optimises it when the
// first call instantiates it. The nodes before that may give other bits.
//
// The solution: the first call in RunLoop instantiates the function on RunLoop's own thread, and
// LoopPass sees the graph at the end of all optimisations:
//
//     InlineCalls ──> kernel of the call ──> LoopPass ──> OfferToCapture ──> GraphCapture
//
// Before the next iteration, or before a later one (Executable::IsOutdated), InlineCalls puts this
// graph into RunLoop's own copy of the loop. The stock loop keeps its call.
namespace tensor_array_grad {

// Whether `node` is a call of a function of `library` (null: none) without state, so that the nodes
// of the function may take its place.
bool MayBeInlined(const Node& node, const tensorflow::FunctionLibraryDefinition* library);

// The number of the instance of its function that `call` uses: the first call with this number
// makes it. -1 if InlineCalls did not give it one.
int64_t InstanceOf(const Node& call);

// While it exists, it records the graph of the first function that is instantiated on this thread,
// if InlineCall can use that graph. Calls in it must have the functions of `library`, in which
// RunLoop's kernels find theirs: TensorFlow may have put others into a library of this instance.
// At most one per thread.
class GraphCapture {
 public:
  explicit GraphCapture(const tensorflow::FunctionLibraryDefinition* library);
  ~GraphCapture();
  GraphCapture(const GraphCapture&) = delete;
  GraphCapture& operator=(const GraphCapture&) = delete;

  // The graph, or null if there was none.
  std::unique_ptr<Graph> Take() { return std::move(graph_); }

 private:
  friend void OfferToCapture(const Graph& graph,
                             const tensorflow::FunctionLibraryDefinition* functions);

  const tensorflow::FunctionLibraryDefinition* const library_;
  bool is_done_ = false;
  std::unique_ptr<Graph> graph_;
};

// Offers the graph of a function, which calls those of `functions` (null: none), to the
// GraphCapture of this thread, if there is one. Requires: the whole function is in `graph`, on one
// device.
void OfferToCapture(const Graph& graph, const tensorflow::FunctionLibraryDefinition* functions);

// Replaces `call`, a node of `graph`, by the nodes of `body`, a graph that a GraphCapture recorded.
// They keep their names, so that errors name them as stock's do, and get the attribute of
// InlinedCallOf with the value `index`. As in a call, none of them runs before all inputs of the
// call are there and live. On error `graph` is of no use any more.
absl::Status InlineCall(const Graph& body, int index, Node* call, Graph* graph);

// A call whose place the nodes of its function have taken.
struct InlinedCall {
  NodeDef def;
  int node;  // the id of the call in the graph in which its predecessors in the list are inlined
  std::shared_ptr<const Graph> body;
};

// Puts the functions of `calls` in place of their calls in `graph`, the loop of a RunLoop, and sets
// InlinedCall::def. The index of a call is its place in the list. If the loop allows it, prepares
// the other calls for the same: those that call the same function alike get an instance of it
// (InstanceOf) that nothing else uses. On error `graph` is of no use any more.
absl::Status InlineCalls(const tensorflow::FunctionLibraryDefinition* library,
                         std::vector<InlinedCall>* calls, Graph* graph);

// The `index` of the InlineCall that added the node, or -1 if none did.
int InlinedCallOf(const NodeDef& node);

// `error` of a node in the function that `call` calls, as the kernel of `call` reports it.
absl::Status ErrorInCall(const absl::Status& error, const NodeDef& call);

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_INLINE_CALL_H_
