"""Second-order gradients through V3 arrays: what `enable()` does to make them right.

Our kernels make gradient arrays of gradient arrays, but TensorFlow's gradient functions name them
wrongly. They take the name of one gradient calculation (the `source`) from the name of the incoming
gradient, up to its *last* component that starts with "gradients". When one `tf.gradients` call
differentiates what another one made, the names are like `gradients_1/gradients/mul_grad/...`, so
that some ops of one calculation use the source "gradients_1" and others "gradients_1/gradients":
half of the sum goes into an array that nobody reads. Here the source is the name scope of the
`tf.gradients` call itself, which all its ops share.
"""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from tensor_array_grad import _tf_private

#: The ops that stock TensorFlow gives a gradient that asks for a gradient array.
OPS = (
    "TensorArrayReadV3",
    "TensorArrayWriteV3",
    "TensorArrayGatherV3",
    "TensorArrayScatterV3",
    "TensorArrayConcatV3",
    "TensorArraySplitV3",
)


def calculation_scope(scope: str, op_name: str) -> str | None:
    """The name scope of the `tf.gradients` call that is asking for the gradient of an op.

    `tf.gradients` calls each gradient function in the scope `<its own>/<op name>_grad`.

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
    """`grad`, under a name from which stock's functions take the scope of this calculation."""
    if grad is None:
        return None
    scope = calculation_scope(op.graph.get_name_scope(), op.name)
    if scope is None or not scope.split("/")[-1].startswith("gradients"):
        return grad  # not from tf.gradients, or named by the user: stock's rule decides
    if stock_source(grad.name) == scope:
        return grad
    with tf.name_scope(scope + "/"):
        return tf.identity(tf.convert_to_tensor(grad), name="source")


def _with_one_source(stock: _tf_private.GradientFunction) -> _tf_private.GradientFunction:
    def gradient(op: tf.Operation, *grads: Any) -> Any:
        # The first gradient is the one that stock's functions look at.
        return stock(op, _in_calculation(op, grads[0]), *grads[1:])

    gradient.tensor_array_grad_stock = stock  # type: ignore[attr-defined]
    return gradient


def install() -> None:
    """Makes the gradients of the V3 ops share one source a calculation. Idempotent."""
    for op_type in OPS:
        found = _tf_private.gradient_function(op_type)
        if found is not None and not hasattr(found, "tensor_array_grad_stock"):
            _tf_private.replace_gradient(op_type, _with_one_source(found))
