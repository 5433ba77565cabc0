"""Programs that index a tensor in a loop, and the methods by which their gradients are computed."""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.counting import counting

STEPS = 6
ROWS, WIDTH = 8, 4  # of x
Read = Callable[[Any, Any], Any]

# The reads of x, of shape [ROWS, WIDTH], in iteration i. Each gives a vector of WIDTH numbers.
READS: dict[str, Read] = {
    "index": lambda x, i: x[i],
    "index_from_the_end": lambda x, i: x[-i - 1],
    "range": lambda x, i: tf.reduce_sum(x[i : i + 2], 0),
    "negative_stride": lambda x, i: tf.reduce_sum(x[i::-3], 0),
    "open_end": lambda x, i: tf.reduce_sum(x[i:], 0),
    "new_axis_and_ellipsis": lambda x, i: x[tf.newaxis, i, ...][0],
    "number": lambda x, i: x[i, 1] * tf.ones([WIDTH], x.dtype),
    "column": lambda x, i: tf.reshape(x, [2, ROWS // 2, WIDTH])[:, i // 2][1],
    "slice": lambda x, i: tf.slice(x, [i, 0], [1, WIDTH])[0],
    "gather": lambda x, i: tf.gather(x, i),
    "gather_repeated": lambda x, i: tf.reduce_sum(tf.gather(x, [i, i, 0]), 0),
    "gather_matrix": lambda x, i: tf.reduce_sum(tf.gather(x, [[i, i], [0, i]]), [0, 1]),
    "gather_axis": lambda x, i: tf.gather(tf.reshape(x, [2, ROWS // 2, WIDTH]), i // 2, axis=1)[0],
    "gather_last_axis": lambda x, i: tf.reduce_sum(x, 0) * 0 + tf.gather(x, i % 3, axis=-1)[0],
    "gather_batch": lambda x, i: tf.gather(
        tf.reshape(x, [2, ROWS // 2, WIDTH]), [i // 2, i // 2], axis=1, batch_dims=1
    )[0],
    "gather_nd": lambda x, i: tf.reduce_sum(tf.gather_nd(x, [[i], [0], [i]]), 0),
    "gather_nd_numbers": lambda x, i: (
        tf.reduce_sum(tf.gather_nd(x, [[i, 0], [i, 0], [0, 1]])) * tf.ones([WIDTH], x.dtype)
    ),
    "two": lambda x, i: x[i] + x[i - 1] * tf.cast(2.0, x.dtype),
    "overlapping": lambda x, i: (
        tf.reduce_sum(x[i : i + 2], 0)
        + tf.reduce_sum(x[i + 1 : i + 3], 0) * tf.cast(0.3, x.dtype)
        + tf.gather(x, i + 1) * tf.cast(0.7, x.dtype)
    ),
    "with_a_read_of_all": lambda x, i: x[i] + tf.reduce_sum(x, 0) * tf.cast(0.01, x.dtype),
    "in_a_branch": lambda x, i: tf.cond(tf.equal(i % 2, 0), lambda: x[i], lambda: x[0] * x[0]),
    "in_a_branch_alone": lambda x, i: tf.cond(
        tf.equal(i % 2, 0), lambda: x[i], lambda: tf.ones([WIDTH], x.dtype)
    ),
    "in_nested_branches": lambda x, i: tf.cond(
        tf.equal(i % 2, 0),
        lambda: tf.cond(tf.equal(i % 3, 0), lambda: tf.ones([WIDTH], x.dtype), lambda: x[i]),
        lambda: tf.cond(tf.equal(i % 3, 0), lambda: x[i + 1], lambda: x[0]),
    ),
    "in_a_case": lambda x, i: tf.switch_case(
        i % 3, [lambda: x[i], lambda: tf.ones([WIDTH], x.dtype), lambda: x[i - 1] * x[0]]
    ),
    "two_in_a_branch": lambda x, i: tf.cond(
        tf.equal(i % 2, 0), lambda: x[i] * x[i + 1] - x[0], lambda: tf.ones([WIDTH], x.dtype)
    ),
    "in_a_branch_and_outside": lambda x, i: (
        tf.cond(tf.equal(i % 2, 0), lambda: x[i] * x[i + 1], lambda: x[0]) * x[i]
    ),
    "gathered_in_a_branch": lambda x, i: tf.cond(
        tf.equal(i % 2, 0), lambda: tf.gather(x, i), lambda: tf.ones([WIDTH], x.dtype)
    ),
    "gathered_in_the_other_branch": lambda x, i: tf.cond(
        tf.equal(i % 2, 0),
        lambda: tf.ones([WIDTH], x.dtype),
        lambda: tf.reduce_sum(tf.gather(x, [i, 0, i]), 0),
    ),
    "through_a_function": lambda x, i: tf.function(lambda y: tf.gather(y, i) * y[0])(x),
}
# The gradients of reads of row 1 of a tensor of shape [2, 3]; `row` is that of the row, [1, 3].
ONE_ROW: dict[str, Callable[[Any], Any]] = {
    "StridedSliceGrad": lambda row: tf.raw_ops.StridedSliceGrad(
        shape=[2, 3], begin=[1], end=[2], strides=[1], dy=row
    ),
    "Pad": lambda row: tf.raw_ops.Pad(input=row, paddings=[[1, 0], [0, 0]]),
    "UnsortedSegmentSum": lambda row: tf.raw_ops.UnsortedSegmentSum(
        data=row, segment_ids=[1], num_segments=2
    ),
    "ScatterNd": lambda row: tf.raw_ops.ScatterNd(indices=[[1]], updates=row, shape=[2, 3]),
}
# How the gradients are computed.
METHODS = (
    "inside",
    "outside",
    "twice_from_one_tape",
    "gradients",
    "second_order",
    "forward_of_backward",
    "nested",
    "session_v2",
    "session_v1",
    "session_v1_unknown_shape",
)
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64")


def inputs(dtype: str) -> np.ndarray:
    """Random numbers whose sums are not exact."""
    values = np.random.default_rng(3).normal(size=(ROWS, WIDTH)) * 0.7
    return tf.cast(values, dtype).numpy()


def _loop(read: Read, steps: int = STEPS) -> Callable[[Any], Any]:
    read = tf.autograph.experimental.do_not_convert(read)

    def loop(x: Any) -> Any:
        def body(i: Any, h: Any) -> tuple[Any, Any]:
            return i + 1, tf.tanh(h * tf.cast(1.1, h.dtype) + read(x, i))

        start = (tf.constant(0), tf.zeros([WIDTH], x.dtype))
        return tf.while_loop(lambda i, h: i < steps, body, start)[1]

    return loop


def _nested(read: Read) -> Callable[[Any], Any]:
    loop = _loop(read)

    def nested(x: Any) -> Any:
        def body(k: Any, h: Any) -> tuple[Any, Any]:
            return k + 1, h * loop(x) + read(x, k)

        start = (tf.constant(0), tf.ones([WIDTH], x.dtype))
        return tf.while_loop(lambda k, h: k < 3, body, start)[1]

    return nested


def gradients_of_each(names: list[str], dtype: str, method: str) -> dict[str, list[np.ndarray]]:
    """The gradients of the programs with these names."""
    return {name: gradients(name, dtype, method) for name in names}


def gradients(name: str, dtype: str, method: str) -> list[np.ndarray]:
    """The gradients of the program of that name."""
    loop = (_nested if method == "nested" else _loop)(READS[name])
    return gradients_of(loop, inputs(dtype), method)


def gradients_of(loop: Callable[[Any], Any], x: np.ndarray, method: str) -> list[np.ndarray]:
    """The gradients of `loop` at `x`, computed by that method."""
    if method.startswith("session"):
        return _in_session(loop, x, method)
    found = _in_function(loop, tf.constant(x), method)
    return [tf.convert_to_tensor(value).numpy() for value in found]


def _in_function(loop: Callable, x: Any, method: str) -> Iterator[Any]:
    def first(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loop(x)
        return tape.gradient(y, x)

    def second(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.convert_to_tensor(first(x)) * x
        return tape.gradient(y, x)

    traced = lambda function: tf.function(function, autograph=False)  # noqa: E731
    if method in ("outside", "twice_from_one_tape"):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = traced(loop)(x)
        for _ in range(1 + (method != "outside")):
            yield tape.gradient(y, x)
    elif method == "gradients":
        yield traced(lambda x: tf.gradients(loop(x), x)[0])(x)
    elif method == "second_order":
        yield traced(second)(x)
    elif method == "forward_of_backward":
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
            y = traced(first)(x)
        yield y
        yield forward.jvp(y)
    else:
        twice = traced(first)
        yield twice(x)
        yield twice(x)


def _in_session(loop: Callable, values: np.ndarray, method: str) -> list[np.ndarray]:
    v1 = tf.compat.v1
    v2, unknown = method == "session_v2", method.endswith("unknown_shape")
    switch = v1.enable_control_flow_v2 if v2 else v1.disable_control_flow_v2
    with tf.Graph().as_default():
        switch()
        try:
            x = v1.placeholder(values.dtype, [None] * values.ndim if unknown else values.shape)
            gradient = tf.convert_to_tensor(tf.gradients(loop(x), x)[0])
        finally:
            v1.enable_control_flow_v2()
        with v1.Session() as session:
            return [session.run(gradient, {x: values}) for _ in range(2)]


def sums_of_negative_zeros(dtype: str) -> dict[str, np.ndarray]:
    """Row 1 of sums of -0.0 and gradients of that row, which are -0.0 too, by op and form."""

    def sums(x: Any, yes: Any) -> dict[str, Any]:
        found = {}
        for op, gradient in ONE_ROW.items():
            of_row = lambda gradient=gradient: gradient(x[1:])  # noqa: E731
            add = lambda *terms: tf.raw_ops.AddN(inputs=terms)  # noqa: E731
            for added, of_two in {"Add": tf.raw_ops.Add, "AddV2": tf.raw_ops.AddV2}.items():
                found[f"{op}, {added} after"] = of_two(x=x, y=of_row())
                found[f"{op}, {added} before"] = of_two(x=of_row(), y=x)
                found[f"{op}, {added} of a sum"] = of_two(x=x, y=add(of_row(), of_row()))
            found[f"{op} after"] = add(x, of_row())
            found[f"{op} before"] = add(of_row(), of_row(), x)
            branch = tf.cond(yes, of_row, lambda: tf.zeros_like(x))
            found[f"{op} in a branch"] = add(x, branch)
            step = lambda i, y, of=of_row, add=add: (i + 1, add(y, of()))  # noqa: E731
            found[f"{op} in a loop"] = tf.while_loop(lambda i, _: i < 3, step, (0, x))[1]
        return found

    x = tf.cast(tf.fill([2, 3], -0.0), dtype)
    x = tf.complex(*[tf.fill([2, 3], -0.0)] * 2) if dtype == "complex64" else x
    found = tf.function(sums, autograph=False)(x, tf.constant(True))
    return {name: value[1].numpy() for name, value in found.items()}


# Shapes of operands that Add adds to a tensor of shape [2, 3]; it cannot add the last three.
OTHER_SHAPES = ([], [1], [3], [2, 1], [1, 3], [5, 2, 3], [2, 1, 2, 3], [0, 1, 1], [4], [2, 2], [0])


def sums_of_other_shapes(dtype: str) -> tuple[dict[str, Any], int]:
    """Sums of gradients of row 1 and of tensors of other shapes, by Add: values, or the error.

    Returns:
      By op, form and shape: dtype, shape and bytes of the sum, or the text of the error; and how
      many sums the graph pass replaced.
    """
    from tensor_array_grad import _loader

    def sums(of_row: Callable[[Any], Any], form: str) -> Callable[[Any, Any, Any], Any]:
        def compute(x: Any, row: Any, yes: Any) -> Any:
            gradient = of_row(row)
            if form.endswith("a branch"):
                gradient = tf.cond(yes, lambda: of_row(row), lambda: tf.zeros([2, 3], dtype))
            elif form.endswith("a sum"):
                gradient = tf.add_n([of_row(row), of_row(row * 3)])
            add = tf.raw_ops.Add if form.startswith("Add ") else tf.raw_ops.AddV2
            return add(x=gradient, y=x) if "before" in form else add(x=x, y=gradient)

        row = tf.TensorSpec([1, 3], dtype)
        signature = [tf.TensorSpec(None, dtype), row, tf.TensorSpec([], tf.bool)]
        return tf.function(compute, signature, autograph=False)

    row = tf.cast([[-0.0, 0.3, float("inf")]], dtype)
    found: dict[str, Any] = {}
    forms = ("Add after", "after", "before", "after a branch", "before a branch", "before a sum")
    for op, form in itertools.product(ONE_ROW, forms):
        function = sums(ONE_ROW[op], form)
        for shape in OTHER_SHAPES:
            x = tf.cast(tf.random.stateless_normal(shape, [1, 2]), dtype)
            try:
                value = function(x, row, tf.constant(True)).numpy()
                result: Any = str(value.dtype), value.shape, value.tobytes()
            except tf.errors.InvalidArgumentError as error:
                result = re.findall(r"Incompatible shapes: \S+ vs\. \S+", error.message)
            found[f"{op} {form} {shape}"] = result
    replaced = _loader.bind().counters()["graph.slice_sum"] if _loader.is_loaded() else 0
    return found, replaced


def counted_in_tf1(name: str, steps: int, method: str) -> dict[str, int]:
    """As `counted`, for a loop of TF1; the method is that of a Session."""
    x = np.random.default_rng(3).normal(size=(steps + 2, WIDTH)).astype("float32")
    with counting() as counts:
        _in_session(_loop(READS[name], steps), x, method)
    return counts


def counted(name: str, steps: int) -> dict[str, int]:
    """The increase of each counter in the second call of a gradient of a loop of that length."""
    loop = _loop(READS[name], steps)
    gradient = tf.function(lambda x: tf.gradients(loop(x), x)[0], autograph=False)
    x = tf.random.stateless_normal([steps + 2, WIDTH], [1, 2])
    gradient(x)
    with counting() as counts:
        gradient(x)
    return counts


def lookup_in_a_branch(
    conditionals: int, rows: int, dtype: str, is_known: bool
) -> tuple[np.ndarray, dict[str, int]]:
    """The gradient of a table with that many rows, of which iterations 0, 2 and 4 read one.

    Args:
      conditionals: In how many conditionals, each in a branch of the one before, the lookup is.
      rows: The number of rows.
      dtype: The dtype of their indices.
      is_known: Whether the number of rows is known when the function is traced.

    Returns:
      The gradient, and by how much the call raised each of the library's counters.
    """
    shape = [rows if is_known else None, 4]

    @tf.function(autograph=False, input_signature=[tf.TensorSpec(shape), tf.TensorSpec([5], dtype)])
    def gradient(table: Any, ids: Any) -> Any:
        def step(i: Any, h: Any) -> tuple[Any, Any]:
            branch = lambda: h * 0.5 + tf.nn.embedding_lookup(table, ids[i])  # noqa: E731
            for _ in range(conditionals):
                branch = functools.partial(tf.cond, i % 2 == 0, branch, lambda: h)
            return i + 1, branch()

        with tf.GradientTape() as tape:
            tape.watch(table)
            h = tf.while_loop(lambda i, _: i < 5, step, (0, tf.zeros([4])))[1]
        return tf.convert_to_tensor(tape.gradient(h, table))

    ids = tf.constant([rows - 1, 0, 1, 0, rows - 1], dtype)
    with counting() as counts:
        result = gradient(tf.zeros([rows, 4]), ids).numpy()
    return result, counts


def from_several_threads(name: str, steps: int, threads: int) -> tuple[list[tuple[Any, Any]], int]:
    """Calls one gradient function from several threads at once, and for each x alone.

    Each thread has an x of its own and calls the function five times. The function has a persistent
    tape, and two losses that share a loop.

    Returns:
      For each concurrent call, its gradients and those of the same x computed alone; and how often
      the concurrent calls added rows in place.
    """
    from tensor_array_grad import _loader

    loop = _loop(READS[name], steps)

    @tf.function(autograph=False)
    def gradient(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = loop(x)
            both = y + loop(x * 2.0)
        return tape.gradient(y, x), tape.gradient(both, x)

    xs = [tf.random.stateless_normal([steps + 2, WIDTH], [1, k]) for k in range(threads)]
    alone = [[g.numpy() for g in gradient(x)] for x in xs]
    barrier = threading.Barrier(threads)
    added_in_place = lambda: _loader.bind().counters()["slice_sums.in_place"]  # noqa: E731
    before = added_in_place()

    def several(k: int) -> list[list[np.ndarray]]:
        barrier.wait()
        return [[g.numpy() for g in gradient(xs[k])] for _ in range(5)]

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        together = list(pool.map(several, range(threads)))
    pairs = [(call, alone[k]) for k, calls in enumerate(together) for call in calls]
    return pairs, added_in_place() - before


def looked_up(ids: list[int], steps: int) -> tuple[np.ndarray, dict[str, int]]:
    """The gradient of a table. Iteration i of a loop looks up its rows `ids` + i.

    Returns:
      The gradient, and by how much its second call raised each of the library's counters; no
      counters if the library is not loaded.
    """
    table = tf.Variable(tf.random.stateless_normal([steps + max(ids) + 1, WIDTH], [1, 2]))

    @tf.function(autograph=False)
    def gradient() -> Any:
        with tf.GradientTape() as tape:

            def body(i: Any, h: Any) -> tuple[Any, Any]:
                rows = tf.nn.embedding_lookup(table, i + tf.constant(ids))
                return i + 1, tf.tanh(h * 1.1 + tf.reduce_sum(rows, 0))

            start = (tf.constant(0), tf.zeros([WIDTH]))
            y = tf.while_loop(lambda i, h: i < steps, body, start)[1]
        return tf.convert_to_tensor(tape.gradient(y, table))

    gradient()
    with counting() as counts:
        result = gradient().numpy()
    return result, counts
