#ifndef CC_RUN_FRAME_CHECKS_H_
#define CC_RUN_FRAME_CHECKS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cc/flow/frame.h"
#include "cc/flow/graph_names.h"
#include "tensorflow/core/framework/types.h"

// Whether the attribute `frame` of an op RunLoop is a loop that fits the op. An op that
// InsertRunLoop has made always passes, but a graph from a file may have any attribute.
//
// Two kinds of errors: InvalidArgument, which names what was found and what is needed, if the
// attribute contradicts the op, so that no loop can continue from the op's outputs; and
// FailedPrecondition, "reason: detail", if it is a loop that only the executor can run, or reject.
namespace tensor_array_grad {

// The inputs of an op RunLoop: first the variables, then the constants.
struct LoopInputs {
  tensorflow::DataTypeVector types;
  int variables = 0;  // how many of them
};

// The graph of `frame`, a serialised GraphDef, in which each node has all its inputs. Returns
// InvalidArgument if the bytes are no GraphDef, FailedPrecondition if they are not a valid graph.
absl::StatusOr<std::unique_ptr<Graph>> GraphOf(const std::string& frame);

// Returns InvalidArgument unless `graph` has one _Arg for each input, of its dtype. The index of an
// _Arg is the number of its input.
absl::Status CheckArguments(const Graph& graph, const LoopInputs& inputs);

// Sets indices[i] to the number of the input that loop.enters[i] brings into the loop. Returns
// InvalidArgument unless each input has one Enter, which is constant if and only if the input is no
// variable, and which waits for nothing else. Requires: `*indices` is empty; CheckArguments
// returned OK for the graph of `loop`.
absl::Status NumberEnters(const Frame& loop, const LoopInputs& inputs, std::vector<int>* indices);

}  // namespace tensor_array_grad

#endif  // CC_RUN_FRAME_CHECKS_H_
