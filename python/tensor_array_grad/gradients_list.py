"""Gradient functions of the TensorList ops whose gradients stock computes wrongly, or slowly.

The gradient of a write costs more than it must in stock: see `_set_item_grad`.

Stock makes three mistakes in `tf.function`. Two of them concern an index that occurs twice. The
gradient of a gather must *add* the rows that came from one element, but stock keeps only the last
row. The gradient of a scatter must be zero for a row that a later row overwrote, but stock gives it
the gradient of the later row.

The third mistake is in the Jacobian of a scatter. pfor computes the gradients for all rows of the
Jacobian at once, and returns the gathered rows with the first two axes swapped.

The functions use stock ops only. A model that is saved with them therefore loads without this
library, and pfor, function inlining and further differentiation support every op.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tensor_array_grad import _tf_private
from tensor_array_grad._first_write import is_first_write

# The types of gradients that tf.math.unsorted_segment_sum adds. Lists of other types keep stock's
# gradient function.
_SUMMED = frozenset({tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128})

_stock: dict[str, _tf_private.GradientFunction] = {}


def install() -> None:
    """Registers the functions for this process. A second call does nothing."""
    if _stock:
        return
    for op_type, function in REPLACED.items():
        _stock[op_type] = _tf_private.gradient_function(op_type)
        _tf_private.replace_gradient(op_type, function)
    _tf_private.wrap_vectorization("TensorListGather", _vectorized_gather)


def installed() -> bool:
    """Whether the functions are registered in this process."""
    return bool(_stock)


def _gather_grad(op: tf.Operation, d_rows: tf.Tensor) -> list[tf.Tensor | None]:
    """Scatters the gradients of the rows, [k, ...], to their elements, summed for each element."""
    d_rows = tf.convert_to_tensor(d_rows)
    if d_rows.dtype in _SUMMED:
        groups = _groups(op.inputs[1])
        if groups is not None:
            # All rows of a group become equal, so it does not matter which of them stock keeps.
            sums = tf.math.unsorted_segment_sum(d_rows, groups, tf.size(groups))
            d_rows = tf.gather(sums, groups)
    return list(_stock[op.type](op, d_rows))


def _scatter_grad(op: tf.Operation, d_list: tf.Tensor, *, row_input: int) -> list[tf.Tensor | None]:
    """Stock's gradient, with zeros for the rows that a later row overwrote.

    The rows are input `row_input` of the op, and their indices are the next input.
    """
    gradients = list(_stock[op.type](op, d_list))
    d_rows = gradients[row_input]
    if d_rows.dtype in _SUMMED:
        groups = _groups(op.inputs[row_input + 1])
        if groups is not None:
            size = tf.size(groups)
            last = tf.gather(tf.math.unsorted_segment_max(tf.range(size), groups, size), groups)
            gradients[row_input] = _keep_where(d_rows, tf.equal(last, tf.range(size)))
    return gradients


def _set_item_grad(op: tf.Operation, d_list: tf.Tensor) -> list[tf.Tensor | None]:
    """The gradient of a write, without a write if the slot had no value before.

    Stock sets the slot of the written value to zeros in the gradient of the list, because the value
    that was overwritten has no gradient. A slot that was never written needs no zeros: nothing
    reads the gradient of a slot after that of its first write. The list can then be passed on as it
    is, and the backward loop only reads it.
    """
    list_, index, _ = op.inputs
    gradients = list(_stock[op.type](op, d_list))
    if is_first_write(list_, index):
        gradients[0] = d_list
        if op.get_attr("resize_if_index_out_of_bounds"):
            gradients[0] = tf.raw_ops.TensorListResize(
                input_handle=d_list, size=tf.raw_ops.TensorListLength(input_handle=list_)
            )
    return gradients


def _groups(indices: tf.Tensor) -> tf.Tensor | None:
    """The numbers of the [k] indices, in [0, k): equal indices have equal numbers.

    None if it is known while the graph is built that no index occurs twice.
    """
    known = tf.get_static_value(indices)
    if known is not None and known.ndim == 1:  # the op itself reports another rank when it runs
        distinct, groups = np.unique(known, return_inverse=True)
        return None if len(distinct) == len(known) else tf.constant(groups, tf.int32)
    if indices.shape.num_elements() in (0, 1):
        return None
    return tf.unique(indices).idx


def _vectorized_gather(stock: Callable[..., Any], inputs: Any) -> Any:
    """Stock's gather for all iterations of pfor, with the iterations on the first axis.

    If the list differs between iterations, the first axis of each element is that of the
    iterations. Gathering k elements then puts the axis of length k in front of it; this swaps the
    two.
    """
    gathered = stock(inputs)
    if not inputs.input(0).is_stacked or inputs.input(1).is_stacked:
        return gathered
    rest = tf.range(2, tf.rank(gathered.t))
    return gathered._replace(t=tf.transpose(gathered.t, tf.concat([[1, 0], rest], axis=0)))


def _keep_where(rows: tf.Tensor, kept: tf.Tensor) -> tf.Tensor:
    """`rows` with zeros for each row whose `kept` is false, also for rows with NaN or infinity."""
    ones = tf.ones([tf.rank(rows) - 1], tf.int32)
    kept = tf.reshape(kept, tf.concat([[-1], ones], axis=0))
    return tf.where(kept, rows, tf.zeros_like(rows))


# The ops whose gradient functions are replaced.
REPLACED: dict[str, _tf_private.GradientFunction] = {
    "TensorListSetItem": _set_item_grad,
    "TensorListGather": _gather_grad,
    "TensorListScatter": functools.partial(_scatter_grad, row_input=0),
    "TensorListScatterV2": functools.partial(_scatter_grad, row_input=0),
    "TensorListScatterIntoExistingList": functools.partial(_scatter_grad, row_input=1),
}
