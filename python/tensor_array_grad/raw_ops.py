"""TensorArrayGradV3 and TensorArrayGradWithShape as typed functions.

Arguments and results are those of the functions of the same names in `tf.raw_ops`. The first call
enables the library.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import tensorflow as tf

from tensor_array_grad import drop_in


class GradOutput(NamedTuple):
    """The fields of the result of both ops, which is a named tuple that `tf.raw_ops` makes.

    Attributes:
      grad_handle: Scalar `resource`: the gradient array.
      flow_out: Scalar `float32`: orders later ops after this one.
    """

    grad_handle: Any
    flow_out: Any


def TensorArrayGradV3(
    handle: Any, flow_in: Any, source: str, name: str | None = None
) -> GradOutput:
    """Finds or creates the gradient array of `handle` for one backward pass.

    The size of the forward array is fixed from then on. Writes to the gradient array are summed.

    Args:
      handle: Scalar `resource`: the handle of a forward array or of a gradient array.
      flow_in: Scalar `float32`: orders this op after the forward array's writes.
      source: Label of the backward pass. Calls with equal labels share one gradient array.
      name: Name of the op in the graph.

    Returns:
      `(grad_handle, flow_out)`: scalar `resource` and scalar `float32`.

    Raises:
      tf.errors.InvalidArgumentError: `handle` is closed, or not an array; the gradient array of
        `source` was made with leading dimensions (`TensorArrayGradWithShape`); or `handle` is a
        gradient array of the 100th order, or one that has no gradient array for this `source` (see
        docs/semantics.md, "Gradients").
      LoadError: The op library cannot be loaded (see `enable`).
    """
    drop_in.enable()
    made = tf.raw_ops.TensorArrayGradV3(handle=handle, flow_in=flow_in, source=source, name=name)
    return cast(GradOutput, made)


def TensorArrayGradWithShape(
    handle: Any, flow_in: Any, shape_to_prepend: Any, source: str, name: str | None = None
) -> GradOutput:
    """Like TensorArrayGradV3, for gradients whose elements have additional leading dimensions.

    Args:
      handle: Scalar `resource`: the handle of an array.
      flow_in: Scalar `float32`: orders this op after the forward array's writes.
      shape_to_prepend: Vector `int32`: the shape of a gradient element is this, followed by the
        shape of the forward element.
      source: Label of the backward pass. Calls with equal labels share one gradient array.
      name: Name of the op in the graph.

    Returns:
      `(grad_handle, flow_out)`: scalar `resource` and scalar `float32`.

    Raises:
      tf.errors.InvalidArgumentError: As for TensorArrayGradV3; or `shape_to_prepend` is not a
        vector, has a negative dimension, or makes the element's shape too large (more than 254
        dimensions, or 2**63 values).
      TypeError, ValueError: `shape_to_prepend` cannot be converted to an `int32` tensor.
      LoadError: The op library cannot be loaded (see `enable`).
    """
    drop_in.enable()
    prefix = tf.convert_to_tensor(shape_to_prepend, dtype=tf.int32)
    # TensorFlow's shape function for this op reads past the end of a scalar, before a kernel could
    # refuse it.
    if prefix.shape.rank not in (None, 1):
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"TensorArrayGradWithShape: shape_to_prepend must be a vector, "
            f"got a tensor of shape {prefix.shape}",
        )
    made = tf.raw_ops.TensorArrayGradWithShape(
        handle=handle, flow_in=flow_in, shape_to_prepend=prefix, source=source, name=name
    )
    return cast(GradOutput, made)
