"""Rules of the graph pass change nothing for any dtype of any input of the ops that they match.

The dtypes come from TensorFlow's kernels and op definitions, so that a dtype that a later release
adds to an op is tried too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import kernels, op_def_registry

from tensor_array_grad import _loader

raw = tf.raw_ops
Dtypes = dict[str, tf.DType]  # by attribute

# Every dtype whose values a program can write down.
ALL = [
    dtype
    for number in types_pb2.DataType.values()
    if 0 < number < 100 and (dtype := tf.as_dtype(number)) not in (tf.resource, tf.variant)
]


def served(op: str) -> list[Dtypes]:
    """Each choice of dtypes for which stock has a CPU kernel of `op`."""
    definition = op_def_registry.get(op)
    allowed = {
        attr.name: [tf.as_dtype(t) for t in attr.allowed_values.list.type] or ALL
        for attr in definition.attr
        if attr.type == "type"
    }
    choices = {}
    for kernel in kernels.get_registered_kernels_for_op(op).kernel:
        if kernel.device_type != "CPU" or kernel.label:
            continue
        lists = dict(allowed)
        for constraint in kernel.constraint:
            lists[constraint.name] = [tf.as_dtype(t) for t in constraint.allowed_values.list.type]
        for chosen in itertools.product(*([t for t in of if t in ALL] for of in lists.values())):
            choices[chosen] = dict(zip(lists, chosen, strict=True))
    return list(choices.values())


def tensor(values: Any, dtype: tf.DType) -> tf.Tensor:
    """A tensor that TensorFlow's optimizer does not see as a constant."""
    if dtype == tf.string:
        array = np.vectorize(str)(values)
    elif dtype == tf.bool:
        array = np.asarray(values) > 1
    else:
        array = np.asarray(values).astype(dtype.as_numpy_dtype)
    return tf.compat.v1.placeholder_with_default(tf.constant(array, dtype), array.shape)


# ---- ops whose outputs AddN adds: a [3, 2] tensor of which rows come from a slice ---------------

WHOLE = np.arange(6).reshape(3, 2)
ROWS = np.array([[1, 2], [3, 4], [5, 6], [7, 8]])


def strided_slice_grad(t: Dtypes) -> tf.Tensor:
    index = t["Index"]
    return raw.StridedSliceGrad(
        shape=tensor([3, 2], index), begin=tensor([1], index), end=tensor([2], index),
        strides=tf.ones([1], index), dy=tensor(ROWS[0], t["T"]), shrink_axis_mask=1,
    )  # fmt: skip


def pad(t: Dtypes) -> tf.Tensor:
    paddings = tensor([[1, 0], [0, 0]], t["Tpaddings"])
    return raw.Pad(input=tensor(ROWS[:2], t["T"]), paddings=paddings)


def unsorted_segment_sum(t: Dtypes) -> tf.Tensor:
    return raw.UnsortedSegmentSum(
        data=tensor(ROWS, t["T"]), segment_ids=tensor([0, 2, -1, 2], t["Tindices"]),
        num_segments=tensor(3, t["Tnumsegments"]),
    )  # fmt: skip


def transposed(t: Dtypes) -> tf.Tensor:
    sums = raw.UnsortedSegmentSum(
        data=tensor(WHOLE.reshape(2, 3), t["T"]), segment_ids=tensor([1, 1], tf.int32),
        num_segments=2,
    )  # fmt: skip
    return raw.Transpose(x=sums, perm=tensor([1, 0], t["Tperm"]))


def reshaped(t: Dtypes) -> tf.Tensor:
    sums = unsorted_segment_sum({"T": t["T"], "Tindices": tf.int32, "Tnumsegments": tf.int32})
    return raw.Reshape(tensor=sums, shape=tensor([3, 2], t["Tshape"]))


def scatter_nd(t: Dtypes) -> tf.Tensor:
    index = t["Tindices"]
    return raw.ScatterNd(
        indices=tensor([[0], [2], [1], [2]], index), updates=tensor(ROWS, t["T"]),
        shape=tensor([3, 2], index),
    )  # fmt: skip


SLICES: dict[str, Callable[[Dtypes], tf.Tensor]] = {
    "StridedSliceGrad": strided_slice_grad,
    "Pad": pad,
    "UnsortedSegmentSum": unsorted_segment_sum,
    "Transpose": transposed,
    "Reshape": reshaped,
    "ScatterNd": scatter_nd,
}


def sums_of(op: str) -> Iterator[tuple[Dtypes, Callable[[], Any]]]:
    """For each choice of dtypes of `op`, a sum of a tensor and its output."""
    make = SLICES[op]
    for dtypes in served(op):
        yield dtypes, lambda t=dtypes: tf.add_n([tensor(WHOLE, t["T"]), make(t)])


# ---- ops on lists -------------------------------------------------------------------------------


def sums_of_lists(shape_op: str) -> Iterator[tuple[Dtypes, Callable[[], Any]]]:
    """Sums of a list and a list with one element, whose shape has each dtype."""

    def total(element: tf.DType, shape: tf.DType) -> Any:
        items = raw.TensorListFromTensor(
            tensor=tensor(ROWS, element), element_shape=tf.constant([2], shape)
        )
        like = tensor([2], shape)
        if shape_op == "TensorListElementShape":
            like = raw.TensorListElementShape(input_handle=items, shape_type=shape)
        empty = raw.TensorListReserve(
            element_shape=like, num_elements=raw.TensorListLength(input_handle=items),
            element_dtype=element,
        )  # fmt: skip
        one = raw.TensorListSetItem(
            input_handle=empty, index=tensor(1, tf.int32), item=tensor(ROWS[0], element)
        )
        both = raw.AddN(inputs=[items, one])
        return raw.TensorListStack(input_handle=both, element_shape=[2], element_dtype=element)

    for shape, element in itertools.product(op_def_shape_types(shape_op), ALL):
        yield (
            {"element": element, "shape": shape},
            lambda element=element, shape=shape: total(element, shape),
        )


def op_def_shape_types(op: str) -> list[tf.DType]:
    (attr,) = (a for a in op_def_registry.get(op).attr if a.name == "shape_type")
    return [tf.as_dtype(t) for t in attr.allowed_values.list.type]


def pushes(op: str) -> Iterator[tuple[Dtypes, Callable[[], Any]]]:
    """A loop that pushes values of each dtype, and one that pops them."""

    def popped(element: tf.DType) -> Any:
        items = tensor(ROWS, element)
        make = lambda: raw.EmptyTensorList(  # noqa: E731
            element_shape=tf.constant([2]), max_num_elements=tf.constant(-1),
            element_dtype=element,
        )  # fmt: skip
        _, stack, other = tf.while_loop(
            lambda i, *_: i < 4,
            lambda i, stack, other: (
                i + 1,
                raw.TensorListPushBack(input_handle=stack, tensor=raw.GatherV2(
                    params=items, indices=i, axis=0)),
                raw.TensorListPushBack(input_handle=other, tensor=items[0]),
            ),
            [tf.constant(0), make(), make()],
        )  # fmt: skip

        def pop(i: Any, stack: Any, other: Any, *_: Any) -> Any:
            stack, value = raw.TensorListPopBack(
                input_handle=stack, element_shape=-1, element_dtype=element
            )
            other, same = raw.TensorListPopBack(
                input_handle=other, element_shape=-1, element_dtype=element
            )
            return i - 1, stack, other, value, same

        start = [tf.constant(3), stack, other, items[0], items[0]]
        return tf.while_loop(lambda i, *_: i > 0, pop, start)[3:]

    assert op == "TensorListPushBack"
    for element in ALL:
        yield {"element": element}, lambda element=element: popped(element)


PROGRAMS = {
    **dict.fromkeys(SLICES, sums_of),
    **dict.fromkeys(["TensorListReserve", "TensorListElementShape"], sums_of_lists),
    "TensorListPushBack": pushes,
}
RULES = {
    **dict.fromkeys(SLICES, "slice_sum"),
    **dict.fromkeys(["TensorListReserve", "TensorListElementShape"], "accumulate_into_list"),
    "TensorListPushBack": "loop_stack",
}


def results(op: str) -> tuple[dict[str, Any], int]:
    """The value or the kind of error for each choice of dtypes of `op`, and the rewrites."""
    found: dict[str, Any] = {}
    for dtypes, program in PROGRAMS[op](op):
        name = ", ".join(f"{name} {dtype.name}" for name, dtype in dtypes.items())
        try:
            values = tf.nest.flatten(tf.function(program, autograph=False)())
            found[name] = [value.numpy().tobytes() for value in values]
            if "string" in name:
                found[name] = [value.numpy().tolist() for value in values]
        except (tf.errors.OpError, TypeError, ValueError) as error:
            found[name] = type(error).__name__
    counters = _loader.bind().counters() if tf.config.list_physical_devices("CPU") else {}
    return found, counters.get(f"graph.{RULES[op]}", 0)


@pytest.mark.parametrize("op", PROGRAMS)
def test_every_dtype_of_every_input_gives_the_value_or_the_error_of_stock(ours, stocks, op):
    run = "tests.loops.matched_dtypes_test:results"
    got, rewrites = ours.call(run, op)
    want, _ = stocks.call(run, op)
    assert got == want
    values = [name for name, value in want.items() if not isinstance(value, str)]
    assert len(values) >= 10
    assert rewrites >= 6


def gathered(x: tf.Tensor, ids: tf.Tensor, axis: int) -> tf.Tensor:
    return tf.reduce_sum(tf.gather(x, ids, axis=axis)[:2] * x[:2, :1])


def outside(x: tf.Tensor, ids: tf.Tensor, axis: int) -> tf.Tensor:
    return gathered(x, ids, axis) + tf.reduce_sum(x * x)


def in_a_loop(x: tf.Tensor, ids: tf.Tensor, axis: int) -> tf.Tensor:
    def body(i: Any, y: Any) -> Any:
        return i + 1, y + gathered(x, ids, axis) * tf.reduce_sum(x * x)

    return tf.while_loop(lambda i, _: i < 3, body, [0, tf.constant(0.0, x.dtype)])[1]


def in_a_branch(x: tf.Tensor, ids: tf.Tensor, axis: int) -> tf.Tensor:
    def body(i: Any, y: Any) -> Any:
        return i + 1, y + tf.cond(i > 1, lambda: gathered(x, ids, axis), lambda: y)

    return tf.while_loop(lambda i, _: i < 3, body, [0, tf.constant(1.0, x.dtype)])[1]


def gather_gradients() -> list[Any]:
    """Gradients of gathers with indices of each dtype, or the error."""
    found: list[Any] = []
    x = tf.constant(np.random.default_rng(1).normal(size=[3, 2]))

    @tf.function(autograph=False)
    def gradient(program: Any, ids: tf.Tensor, axis: int) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x, ids, axis)
        return tf.convert_to_tensor(tape.gradient(y, x))

    for axis, program in itertools.product((0, 1), (outside, in_a_loop, in_a_branch)):
        for dtype in (tf.int16, tf.int32, tf.int64):
            ids = tf.constant([0, 2, 2, 1] if axis == 0 else [1, 0, 1], dtype)
            try:
                found.append(gradient(program, ids, axis).numpy())
            except TypeError as error:  # stock does not sum all IndexedSlices of int16
                found.append(str(error))
    return found


def test_gradients_of_gathers_with_indices_of_any_dtype_equal_those_of_stock(ours, stocks):
    run = "tests.loops.matched_dtypes_test:gather_gradients"
    expected = stocks.call(run)
    for got, want in zip(ours.call(run), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    assert sum(isinstance(want, np.ndarray) for want in expected) >= 16
