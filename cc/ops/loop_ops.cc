// The ops that LoopPass puts in front of a while loop.

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace tensor_array_grad {
namespace {

// Declares RunLoop under that name.
tensorflow::InitOnStartupMarker Declare(const char* name, bool is_stateful, const char* doc) {
  tensorflow::register_op::OpDefBuilderWrapper op(name);
  op.Input("variables: T")
      .Input("constants: U")
      .Output("results: T")
      .Attr("T: list(type) >= 1")
      .Attr("U: list(type) >= 0")
      .Attr("frame: string")
      .Attr("takes_locks: bool = false")
      .Attr("record: int = 0")
      .SetShapeFn(tensorflow::shape_inference::UnknownShape)
      .Doc(doc);
  if (is_stateful) op.SetIsStateful();
  return op();
}

// Stateful, so that TensorFlow's optimisations neither merge, move nor evaluate it.
[[maybe_unused]] const tensorflow::InitOnStartupMarker run_loop =
    Declare("TensorArrayGrad>RunLoop", /*is_stateful=*/true, R"doc(
Runs iterations of a while loop in one kernel.

May stop after any iteration, also before the first. The while loop that `frame` was taken from
follows this op in the graph and continues from `results`.

variables: The values that enter the loop and may change in each iteration.
constants: The values that enter the loop and are the same in all iterations.
results: The variables at the end of the last iteration that ran.
frame: A serialised GraphDef of the loop's frame and the frames inside of it. Each Enter node reads
  an `_Arg` whose index is that of an input of this op.
takes_locks: Whether the loop may have ops MutexLock. While it waits for a lock, it occupies no
  thread.
record: The number under which this process keeps what is known of the loop.
)doc");

[[maybe_unused]] const tensorflow::InitOnStartupMarker run_loop_in_session =
    Declare("TensorArrayGrad>RunLoopInSession", /*is_stateful=*/false, R"doc(
RunLoop in the graph of a Session.

A Session keeps the kernel of a stateful op until it is closed. This op is not stateful, so its
kernel is destroyed with the graph. The kernel may therefore call the functions of the graph.

variables: As in RunLoop.
constants: As in RunLoop.
results: As in RunLoop.
frame: As in RunLoop.
takes_locks: As in RunLoop.
record: As in RunLoop.
)doc");

REGISTER_OP("TensorArrayGrad>NoteCondition")
    .Input("condition: bool")
    .Attr("record: int")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::NoOutputs)
    .Doc(R"doc(
Notes that the executor evaluates the condition of a loop.

condition: Whether there is another iteration.
record: As in RunLoop.
)doc");

REGISTER_OP("TensorArrayGrad>NoteExit")
    .Attr("record: int")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::NoOutputs)
    .Doc(R"doc(
Notes that a loop has ended in the executor.

record: As in RunLoop.
)doc");

}  // namespace
}  // namespace tensor_array_grad
