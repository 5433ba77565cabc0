"""Second-order gradients through V3 arrays: how `enable()` makes them correct.

The kernels of this library make gradient arrays of gradient arrays, but TensorFlow's gradient
functions name them wrongly. All ops of one gradient calculation must use one `source`. TensorFlow
takes it from the name of the incoming gradient, up to the *last* component that starts with
"gradients". If one `tf.gradients` call differentiates the result of another one, the names are like
`gradients_1/gradients/mul_grad/...`. Some ops of one calculation then use the source "gradients_1"
and others "gradients_1/gradients", so a part of the sum is added to an array that no op reads.

The functions here give all ops of a calculation that differentiate the same array one source, the
name scope of the `tf.gradients` call. It is also stock's source in first derivatives, so a gradient
function of the user that calls TensorFlow's own adds to the same gradient array.

If the array is a gradient array itself, the last component of the source is `MARK`. A source of
TensorFlow's functions lacks it, and the kernel of TensorArrayGradV3 refuses to make a gradient
array of a gradient array for it, as stock's kernel refuses to make any. A scope whose last
component does not start with "gradients" gets the mark too, because TensorFlow's functions would
leave out this component.
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

#: The last component of the sources for gradient arrays of gradient arrays. It starts with
#: "gradients", because TensorFlow's functions take the source from a name up to such a component.
#: cc/kernels/array_grad_kernels.cc has the same string.
MARK = "gradients.one_source"

_GRADIENT_ARRAYS = ("TensorArrayGradV3", "TensorArrayGradWithShape")
_PASSES_ON = ("Enter", "Exit", "Identity", "Merge", "NextIteration", "Switch")


def calculation_scope(scope: str, op_name: str) -> str | None:
    """The name scope of the `tf.gradients` call that is computing the gradient of an op.

    `tf.gradients` calls each gradient function in the scope `<its own scope>/<op name>_grad`. For
    example, `train/gradients_1/read_grad` gives "train/gradients_1" for the op `read`. None if
    `scope` is not of that form.
    """
    match = re.fullmatch(rf"(.+)/{re.escape(op_name)}_grad(_\d+)?", scope)
    return match[1] if match else None


def stock_source(name: str) -> str:
    """The source that stock's gradient functions take from the name of a gradient."""
    parts = name.split("/")
    last = max((i for i, part in enumerate(parts) if part.startswith("gradients")), default=-1)
    return "/".join(parts[: last + 1])


def _is_gradient_array(handle: tf.Tensor) -> bool:
    """Whether the op that made `handle`, in front of control-flow ops, makes gradient arrays."""
    op = handle.op
    while op.type in _PASSES_ON:
        op = op.inputs[0].op
    return op.type in _GRADIENT_ARRAYS


def _in_calculation(op: Any, grad: Any) -> Any:
    """`grad` under a name from which stock's functions derive the source of this calculation."""
    if grad is None or not isinstance(op, tf.Operation):  # a tape passes another object
        return grad
    source = calculation_scope(op.graph.get_name_scope(), op.name)
    if source is None:
        return grad  # not from tf.gradients: keep stock's source
    if not source.split("/")[-1].startswith("gradients") or _is_gradient_array(op.inputs[0]):
        source = f"{source}/{MARK}"
    if stock_source(grad.name) == source:
        return grad
    with tf.name_scope(f"{source}/"):
        return tf.identity(tf.convert_to_tensor(grad), name="gradient")


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
        if not hasattr(found, "tensor_array_grad_stock"):
            _tf_private.replace_gradient(op_type, _with_one_source(found))
