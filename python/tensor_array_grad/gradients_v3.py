"""Second-order gradients through V3 arrays: how `enable()` makes them correct.

The kernels of this library make gradient arrays of gradient arrays, but TensorFlow's gradient
functions name them wrongly. All ops of one gradient calculation must use one `source`. TensorFlow
takes it from the name of the incoming gradient, up to the *last* component that starts with
"gradients". If one `tf.gradients` call differentiates the result of another one, the names are like
`gradients_1/gradients/mul_grad/...`. Some ops of one calculation then use the source "gradients_1"
and others "gradients_1/gradients", so half of the sum goes into an array that no op reads.

The functions here take the name scope of the `tf.gradients` call as the source. All ops of the call
share it. If several components of the scope start with "gradients", because the user named a scope
so, the components are joined: the kernel of TensorArrayGradV3 refuses to make a gradient array of a
gradient array for a source of several such components, which is how it notices that a graph was
built with TensorFlow's gradient functions.
"""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from tensor_array_grad import _tf_private

#: The ops whose gradient functions in TensorFlow look up a gradient array.
OPS = (
    "TensorArrayReadV3",
    "TensorArrayWriteV3",
    "TensorArrayGatherV3",
    "TensorArrayScatterV3",
    "TensorArrayConcatV3",
    "TensorArraySplitV3",
)


def calculation_scope(scope: str, op_name: str) -> str | None:
    """The name scope of the `tf.gradients` call that is computing the gradient of an op.

    `tf.gradients` calls each gradient function in the scope `<its own scope>/<op name>_grad`.

    Args:
      scope: The current name scope.
      op_name: The name of the op that is differentiated.

    Returns:
      The scope of the call, for example "train/gradients_1"; None if `scope` is not of that form.
    """
    match = re.fullmatch(rf"(.+)/{re.escape(op_name)}_grad(_\d+)?", scope)
    return match[1] if match else None


def stock_source(name: str) -> str:
    """The source that stock's gradient functions take from the name of a gradient."""
    parts = name.split("/")
    last = max((i for i, part in enumerate(parts) if part.startswith("gradients")), default=-1)
    return "/".join(parts[: last + 1])


def _in_calculation(op: tf.Operation, grad: Any) -> Any:
    """`grad` under a name from which stock's functions derive the scope of this calculation."""
    if grad is None:
        return None
    scope = calculation_scope(op.graph.get_name_scope(), op.name)
    if scope is None or not scope.split("/")[-1].startswith("gradients"):
        return grad  # not from tf.gradients, or the user named the scope: keep stock's source
    if sum(part.startswith("gradients") for part in scope.split("/")) > 1:
        scope = "gradients." + scope.replace("/", ".")
    if stock_source(grad.name) == scope:
        return grad
    with tf.name_scope(scope + "/"):
        return tf.identity(tf.convert_to_tensor(grad), name="source")


def _with_one_source(stock: _tf_private.GradientFunction) -> _tf_private.GradientFunction:
    def gradient(op: tf.Operation, *grads: Any) -> Any:
        # Stock's functions derive the source from the first gradient.
        return stock(op, _in_calculation(op, grads[0]), *grads[1:])

    gradient.tensor_array_grad_stock = stock  # type: ignore[attr-defined]
    return gradient


def install() -> None:
    """Makes the gradients of the V3 ops share one source per calculation. Idempotent."""
    for op_type in OPS:
        found = _tf_private.gradient_function(op_type)
        if found is not None and not hasattr(found, "tensor_array_grad_stock"):
            _tf_private.replace_gradient(op_type, _with_one_source(found))
