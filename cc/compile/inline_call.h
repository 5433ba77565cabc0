#ifndef CC_COMPILE_INLINE_CALL_H_
#define CC_COMPILE_INLINE_CALL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
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
//     InlineCalls ──> kernel of the call ──> LoopPass ──> OfferToCapture ──> CaptureGraph
//
// Before the next iteration, or before a later one (called_functions.h), InlineCalls puts this
// graph into RunLoop's own copy of the loop. The stock loop keeps its call.
namespace tensor_array_grad {

// The number of the instance of its function that `call` uses: the first call with this number
// makes it. -1 if InlineCalls did not give it one.
int64_t InstanceOf(const Node& call);

// Calls `call`, and returns the graph of the first function that it instantiates on this thread;
// null if there is none, or if InlineCalls cannot use it. Calls in it must have the functions of
// `library`, in which RunLoop's kernels find theirs: TensorFlow may have put others into a library
// of this instance.
std::unique_ptr<const Graph> CaptureGraph(const tensorflow::FunctionLibraryDefinition* library,
                                          absl::FunctionRef<void()> call);

// Offers the graph of a function, which calls those of `functions` (null: none), to the
// CaptureGraph that runs on this thread, if one does. Requires: the whole function is in `graph`,
// on one device.
void OfferToCapture(const Graph& graph, const tensorflow::FunctionLibraryDefinition* functions);

// A call whose place the nodes of its function have taken.
struct InlinedCall {
  NodeDef def;
  int node;  // the id of the call in the graph in which its predecessors in the list are inlined
  std::shared_ptr<const Graph> body;
};

// Puts the functions of `calls` in place of their calls in `graph`, the loop of a RunLoop, and sets
// InlinedCall::def. The nodes keep their names, so that errors name them as stock's do. As in a
// call, none of them runs before all inputs of the call are there and live. If the loop allows it,
// prepares the other calls for the same: those that call the same function alike get an instance of
// it (InstanceOf) that nothing else uses. On error `graph` is of no use any more.
absl::Status InlineCalls(const tensorflow::FunctionLibraryDefinition* library,
                         std::vector<InlinedCall>* calls, Graph* graph);

// `error` of the node `def` as stock reports it: with the name of the node and, if it is one of an
// inlined call, of the function and of the call. `calls` are those of the InlineCalls for its
// graph.
absl::Status ErrorAt(const absl::Status& error, const NodeDef& def,
                     const std::vector<InlinedCall>& calls);

}  // namespace tensor_array_grad

#endif  // CC_COMPILE_INLINE_CALL_H_
