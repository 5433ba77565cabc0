"""The V3 ops: `python -m benchmarks.v3 [--quick] [case ...]`.

One op takes less time than the start of a Session run. So a case that times one op puts many of
them into a graph, one after the other, between two ops that read the clock. The time contains
neither the start of the run nor the preparation of the ops. The other cases time a whole run, which
includes making and freeing the arrays.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from benchmarks import harness
from benchmarks.case import Case, Prepared, timed

_WIDTH = 16
_raw = tf.raw_ops


def _session(graph: tf.Graph) -> tf.compat.v1.Session:
    """A session that runs the graph as it was built, on one thread of the executor."""
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1  # L0
    return tf.compat.v1.Session(graph=graph, config=config)


def _array(n: int, shape: Sequence[int | None] = (_WIDTH,)) -> tuple[tf.Tensor, tf.Tensor]:
    handle, flow = _raw.TensorArrayV3(
        size=n, dtype=tf.float32, element_shape=shape, identical_element_shapes=True
    )
    return handle, flow


class _Clock:
    """Measures the time between two readings of the clock inside a graph."""

    def __init__(self, ready: Sequence[tf.Tensor]) -> None:
        """Starts the clock when all of `ready` is computed."""
        with tf.control_dependencies(ready):
            self._start = tf.timestamp()

    def after_start(self, flow: tf.Tensor) -> tf.Tensor:
        """`flow`, for ops that must not run before the clock has started."""
        with tf.control_dependencies([self._start]):
            return tf.identity(flow)

    def stop(self, done: Sequence[tf.Tensor]) -> tf.Tensor:
        """Seconds from the start until all of `done` is computed."""
        with tf.control_dependencies(done):
            return tf.timestamp() - self._start


def _prepared(
    graph: tf.Graph, span: tf.Tensor, ops: int, result: tf.Tensor, expected: npt.ArrayLike
) -> Prepared:
    """A case whose time is `span` divided by the number of ops, `ops`."""
    session = _session(graph)
    return Prepared(
        run=lambda: float(session.run(span)) / ops,
        result=lambda: session.run(result),
        expected=expected,
    )


def _whole_run(
    graph: tf.Graph, result: tf.Tensor, expected: npt.ArrayLike, tolerance: float = 1e-5
) -> Prepared:
    """A case whose time is that of the whole run. The timed run does not fetch the result."""
    session = _session(graph)
    return Prepared(
        run=timed(lambda: session.run(result.op)),
        result=lambda: session.run(result),
        expected=expected,
        tolerance=tolerance,
    )


def _floor(n: int) -> Prepared:
    """Ops that do nothing: the cost of the executor."""
    with tf.Graph().as_default() as graph:
        clock = _Clock([])
        value = clock.after_start(tf.constant(1.0))
        for _ in range(n):
            value = _raw.Identity(input=value)
        return _prepared(graph, clock.stop([value]), n, value, 1.0)


def _find(n: int) -> Prepared:
    with tf.Graph().as_default() as graph:
        handle, flow = _array(3, ())
        made = _raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
        clock = _Clock([made.flow_out])
        found, flow = made.grad_handle, clock.after_start(made.flow_out)
        for _ in range(n):
            found, flow = _raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
        # A value written through the first handle is read through the last: both name one array.
        written = _raw.TensorArrayWriteV3(handle=made.grad_handle, index=1, value=5.0, flow_in=flow)
        read = _raw.TensorArrayReadV3(handle=found, index=1, flow_in=written, dtype=tf.float32)
        return _prepared(graph, clock.stop([flow]), n, read, 5.0)


def _create(n: int) -> Prepared:
    """One gradient array for each of many arrays."""
    ops = 300
    with tf.Graph().as_default() as graph:
        arrays = [_array(n) for _ in range(ops)]
        clock = _Clock([flow for _, flow in arrays])
        flow = clock.after_start(arrays[0][1])
        for handle, _ in arrays:
            made, flow = _raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
        size = _raw.TensorArraySizeV3(handle=made, flow_in=flow)
        return _prepared(graph, clock.stop([flow]), ops, size, n)


def _create_large(n: int) -> Prepared:
    """Gradient arrays of different sources for one array."""
    ops = 8
    with tf.Graph().as_default() as graph:
        handle, flow = _array(n)
        clock = _Clock([flow])
        flow = clock.after_start(flow)
        for i in range(ops):
            made, flow = _raw.TensorArrayGradV3(handle=handle, flow_in=flow, source=f"g{i}")
        size = _raw.TensorArraySizeV3(handle=made, flow_in=flow)
        return _prepared(graph, clock.stop([flow]), ops, size, n)


def _make_and_free(ops: int) -> Callable[[int], Prepared]:
    """`ops` arrays in one run, one after the other, each with a gradient array; time per array."""

    def build(n: int) -> Prepared:
        with tf.Graph().as_default() as graph:
            flow = tf.constant(0.0)
            for _ in range(ops):
                with tf.control_dependencies([flow]):
                    handle, flow = _array(n)
                made, flow = _raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
            size = _raw.TensorArraySizeV3(handle=made, flow_in=flow)
            run = _whole_run(graph, size, n)
        return dataclasses.replace(run, run=lambda: run.run() / ops)

    return build


def _rows(n: int, width: int = _WIDTH) -> npt.NDArray[np.float32]:
    return np.random.default_rng(n).normal(size=(n, width)).astype(np.float32)


def _write_rows(handle: tf.Tensor, flow: tf.Tensor, rows: npt.NDArray[np.float32]) -> tf.Tensor:
    """Writes the rows one after the other; returns the last flow."""
    values = [tf.constant(row) for row in rows]
    for i, value in enumerate(values):
        flow = _raw.TensorArrayWriteV3(handle=handle, index=i, value=value, flow_in=flow)
    return flow


def _write(n: int) -> Prepared:
    rows = _rows(n)
    with tf.Graph().as_default() as graph:
        handle, flow = _array(n)
        clock = _Clock([flow])
        flow = _write_rows(handle, clock.after_start(flow), rows)
        held = _raw.TensorArrayGatherV3(
            handle=handle, indices=np.arange(n), flow_in=flow, dtype=tf.float32
        )
        return _prepared(graph, clock.stop([flow]), n, held, rows)


def _read(unstacked: bool) -> Callable[[int], Prepared]:
    def build(n: int) -> Prepared:
        rows = _rows(n)
        with tf.Graph().as_default() as graph:
            handle, flow = _array(n)
            if unstacked:
                flow = _raw.TensorArrayScatterV3(
                    handle=handle, indices=np.arange(n), value=rows, flow_in=flow
                )
            else:
                flow = _write_rows(handle, flow, rows)
            clock = _Clock([flow])
            flow, read = clock.after_start(flow), []
            for i in range(n):
                with tf.control_dependencies(read[-1:]):  # one after the other
                    read.append(
                        _raw.TensorArrayReadV3(
                            handle=handle, index=i, flow_in=flow, dtype=tf.float32
                        )
                    )
            return _prepared(graph, clock.stop(read[-1:]), n, tf.stack(read), rows)

    return build


def _unstack_stack(width: int) -> Callable[[int], Prepared]:
    def build(n: int) -> Prepared:
        rows = _rows(n, width)
        with tf.Graph().as_default() as graph:
            handle, flow = _array(n, (width,))
            order = tf.constant(np.arange(n, dtype=np.int32))
            flow = _raw.TensorArrayScatterV3(
                handle=handle, indices=order, value=tf.constant(rows), flow_in=flow
            )
            stacked = _raw.TensorArrayGatherV3(
                handle=handle, indices=order, flow_in=flow, dtype=tf.float32, element_shape=[width]
            )
            return _whole_run(graph, stacked, rows)

    return build


def _summed(width: int, n: int) -> tuple[tf.Tensor, tf.Tensor, _Clock]:
    """Makes `n` writes that are summed. Returns the sum, the last flow and the clock."""
    addends = [tf.constant(row) for row in _rows(2, width)]
    handle, flow = _array(1, (width,))
    grad, flow = _raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
    clock = _Clock([flow])
    flow = clock.after_start(flow)
    for i in range(n):
        flow = _raw.TensorArrayWriteV3(handle=grad, index=0, value=addends[i % 2], flow_in=flow)
    total = _raw.TensorArrayReadV3(handle=grad, index=0, flow_in=flow, dtype=tf.float32)
    return total, flow, clock


def _expected_sum(width: int, n: int) -> npt.NDArray[np.float64]:
    first, second = _rows(2, width).astype(np.float64)
    return first * ((n + 1) // 2) + second * (n // 2)


def _sum_large(width: int) -> Callable[[int], Prepared]:
    def build(n: int) -> Prepared:
        with tf.Graph().as_default() as graph:
            total, _, _ = _summed(width, n)
            return _whole_run(graph, total, _expected_sum(width, n), tolerance=1e-3)

    return build


def _sum_small(n: int) -> Prepared:
    with tf.Graph().as_default() as graph:
        total, flow, clock = _summed(_WIDTH, n)
        prepared = _prepared(graph, clock.stop([flow]), n, total, _expected_sum(_WIDTH, n))
        return dataclasses.replace(prepared, tolerance=1e-3)


def _loop(n: int) -> Prepared:
    """h[i] = h[i-1] / 2 + x[i], written to a second array; the gradient of a weighted sum of h."""
    width = 32
    rows, weights = _rows(n, width), _rows(n + 1, width)[:n]
    tf.compat.v1.disable_control_flow_v2()  # its loops would hold lists instead of V3 arrays
    with contextlib.ExitStack() as after, tf.Graph().as_default() as graph:
        after.callback(tf.compat.v1.enable_control_flow_v2)
        x = tf.constant(rows)
        inputs = tf.TensorArray(tf.float32, n, element_shape=[width]).unstack(x)
        outputs = tf.TensorArray(tf.float32, n, element_shape=[width])

        def step(
            i: tf.Tensor, h: tf.Tensor, held: tf.TensorArray
        ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
            h = h * 0.5 + inputs.read(i)
            return i + 1, h, held.write(i, h)

        start = (tf.constant(0), tf.zeros([width]), outputs)
        *_, held = tf.compat.v1.while_loop(lambda i, *_: i < n, step, start)
        (gradient,) = tf.gradients(held.stack() * weights, x)
        expected = np.zeros((n + 1, width))
        for i in reversed(range(n)):
            expected[i] = weights[i] + 0.5 * expected[i + 1]
        # If terms nearly cancel, an element is mostly rounding error.
        return _whole_run(graph, gradient, expected[:n], tolerance=1e-2)


CASES = (
    Case("floor", "an op that does nothing", (1_000,), _floor, uses_arrays=False, judged=False),
    Case("find", "TensorArrayGradV3 finds its array", (500,), _find, target=3.0),
    Case("create", "TensorArrayGradV3 makes an array of n slots", (3,), _create),
    Case(
        "create_large",
        "TensorArrayGradV3 makes an array of n slots",
        (1_000_000,),
        _create_large,
        target=1_000.0,
    ),
    Case("make_and_free", "an array and its gradient array of n slots", (3,), _make_and_free(100)),
    Case(
        "make_and_free_large",
        "an array and its gradient array of n slots",
        (1_000_000,),
        _make_and_free(1),
    ),
    Case("write", "a write of 16 floats", (1_000,), _write),
    Case("read", "a read of 16 floats", (1_000,), _read(unstacked=False)),
    Case("read_row", "a read of one row of 16 from a block", (1_000,), _read(unstacked=True)),
    Case(
        "unstack_stack_16",
        "unstack and stack, n rows of 16",
        (100_000,),
        _unstack_stack(16),
        target=5.0,
    ),
    Case(
        "unstack_stack_4096", "unstack and stack, n rows of 4,096", (1_000,), _unstack_stack(4_096)
    ),
    Case("sum_large", "n summed writes of 1,000,000 floats", (100,), _sum_large(1_000_000)),
    Case("sum_small", "one of n summed writes of 16 floats", (1_000,), _sum_small),
    Case("loop", "TF1 loop of n steps and its gradient", (25_600,), _loop, target=5.0),
)


if __name__ == "__main__":
    sys.exit(harness.main("benchmarks.v3", CASES))
