#ifndef TENSOR_ARRAY_GRAD_OPS_H_
#define TENSOR_ARRAY_GRAD_OPS_H_

#include "absl/strings/string_view.h"
#include "tensorflow/cc/framework/ops.h"
#include "tensorflow/cc/framework/scope.h"

// The C++ classes of the ops that find or create the gradient array of a TensorArray. They only
// build graphs, with TensorFlow's own ops, so the graphs run with stock's kernels too. To use this
// library's kernels, call Load() (tensor_array_grad/load.h) before the first session is made.
//
// As for every op class, `scope.status()` shows whether a constructor succeeded. After an error the
// members are empty and no node of the op is left in `scope.graph()`. (A stock op class leaves a
// node that failed its shape function, and that node breaks the graph.)
namespace tensor_array_grad {

// Finds the TensorArray that sums the gradients of values in `handle`, or creates it.
//
// If the array of this `source` exists already, its handle is returned. Otherwise it is created
// with as many elements as `handle` has at that moment and with their dtype and shapes; a write to
// it adds to the element. From then on a dynamic `handle` can no longer grow, so that its gradient
// array keeps the right size. Elements inside of that size can still be written.
//
// A note on `flow_in`: the size is only known once all forward writes are done. Pass the flow
// output of the last of them, and the op runs after it. The same holds for each operation that must
// see the effect of another on the array: chain their flows.
//
// A note on `source`: an array sums the gradients of one backward calculation. If a graph has
// several, for example of two losses, each must pass its own source, or their gradients would be
// summed into one array. By convention it is "gradients", "gradients_1", ...: the name scope in
// which the gradient was built. The name of the gradient array is the forward array's name, `@` and
// the source.
//
// Arguments:
// * scope: where the node is added; its properties (name, device, control inputs) apply.
// * handle: of the forward array, `resource`.
// * flow_in: scalar `float`; it enforces the order of operations, its value does not matter.
// * source: identifies the backward calculation; any string.
class TensorArrayGrad {
 public:
  TensorArrayGrad(const tensorflow::Scope& scope, tensorflow::Input handle,
                  tensorflow::Input flow_in, absl::string_view source);

  tensorflow::Operation operation;
  tensorflow::Output grad_handle;  // `resource`: of the gradient array
  tensorflow::Output flow_out;     // scalar `float`: chain it into operations on the gradient array
};

// As TensorArrayGrad, for an array whose elements have more dimensions than the forward ones: each
// shape is `shape_to_prepend` followed by the shape of the forward element. So several gradients of
// one array can be summed at once, for example the rows of a Jacobian.
//
// * shape_to_prepend: vector of `int32`. A shape_to_prepend whose known rank is not 1 is an error
//   here; its values are checked when the graph runs.
class TensorArrayGradWithShape {
 public:
  TensorArrayGradWithShape(const tensorflow::Scope& scope, tensorflow::Input handle,
                           tensorflow::Input flow_in, tensorflow::Input shape_to_prepend,
                           absl::string_view source);

  tensorflow::Operation operation;
  tensorflow::Output grad_handle;
  tensorflow::Output flow_out;
};

}  // namespace tensor_array_grad

#endif  // TENSOR_ARRAY_GRAD_OPS_H_
