"""Many threads on one array: exact sums, one gradient array per source, no deadlock.

All errors that the threads see must be expected ones.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.support import kernel_runner
from tests.support.threads import THREADS, in_parallel

raw = tf.raw_ops
v1 = tf.compat.v1


def new_array(**attributes: Any) -> tuple[tf.Tensor, tf.Tensor]:
    return raw.TensorArrayV3(**{"size": 4, "dtype": tf.float32, **attributes})


def summed_by_many_threads() -> Any:
    totals = []
    for _ in range(20):
        handle, flow = new_array()

        def work(number: int, handle: Any = handle, flow: Any = flow) -> None:
            for repeat in range(10):
                grad, _ = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
                value = tf.fill([50], float(number + repeat))
                raw.TensorArrayWriteV3(handle=grad, index=repeat % 4, value=value, flow_in=flow)

        assert in_parallel(work) == [None] * THREADS
        grad, _ = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
        value = raw.TensorArrayGatherV3(
            handle=grad, indices=range(4), flow_in=flow, dtype=tf.float32
        )
        totals.append(float(tf.reduce_sum(value)))
    want = 50.0 * sum(n + r for n in range(THREADS) for r in range(10))
    return set(totals) == {want}


def summed_in_one_session_step() -> Any:
    """For each of two sources, 100 unordered writes to a gradient array and 100 to that of order 2.

    All writes are in one graph and use 3 indices.
    """
    with tf.Graph().as_default():
        handle, flow = new_array(size=3)
        flows = []
        reads = []
        for source in ("a", "b"):
            grads = [raw.TensorArrayGradV3(handle=handle, flow_in=flow, source=source)
                     for _ in range(100)]  # fmt: skip
            seconds = [raw.TensorArrayGradV3(handle=g, flow_in=f, source="c") for g, f in grads]
            for k, (target, _) in enumerate([*grads, *seconds]):
                value = tf.fill([1000], float(k))
                flows.append(raw.TensorArrayWriteV3(
                    handle=target, index=k % 3, value=value, flow_in=flow))  # fmt: skip
            with tf.control_dependencies(flows):
                for target, _ in (grads[0], seconds[0]):
                    reads += [
                        raw.TensorArrayReadV3(
                            handle=target, index=i, flow_in=flow, dtype=tf.float32
                        )[0]
                        for i in range(3)
                    ]
        with v1.Session(config=v1.ConfigProto(inter_op_parallelism_threads=THREADS)) as session:
            runs = [session.run(reads) for _ in range(20)]
    first = [float(sum(k for k in range(100) if k % 3 == i)) for i in range(3)]
    second = [float(sum(k for k in range(100, 200) if k % 3 == i)) for i in range(3)]
    return all(list(run) == (first + second) * 2 for run in runs)


def closed_while_in_use() -> Any:
    messages = set()
    for _ in range(60):
        handle, flow = new_array(size=100, clear_after_read=False, element_shape=[10])
        grad, _ = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")

        def work(number: int, handle: Any = handle, grad: Any = grad, flow: Any = flow) -> None:
            if number == 0:
                raw.TensorArrayCloseV3(handle=handle)
                raw.TensorArrayCloseV3(handle=grad)
                return
            for i in range(number, 100, THREADS):
                value = tf.ones([10])
                raw.TensorArrayWriteV3(handle=handle, index=i, value=value, flow_in=flow)
                raw.TensorArrayWriteV3(handle=grad, index=0, value=value, flow_in=flow)
                raw.TensorArrayGatherV3(
                    handle=handle, indices=[i, i], flow_in=flow, dtype=tf.float32
                )
                raw.TensorArrayGradV3(handle=handle, flow_in=flow, source=str(i % 3))

        for result in in_parallel(work):
            if result is not None:
                messages.add("closed" if "already been closed" in str(result) else str(result))
    return sorted(messages)


def elements_that_own_arrays() -> Any:
    """Closes an array of handles, which destroys arrays, while other threads make gradient arrays.

    Stock can deadlock here.
    """
    for _ in range(40):
        outer, flow = raw.TensorArrayV3(size=20, dtype=tf.resource)
        for i in range(20):
            inner, inner_flow = new_array()
            raw.TensorArrayWriteV3(handle=inner, index=0, value=[1.0], flow_in=inner_flow)
            raw.TensorArrayWriteV3(handle=outer, index=i, value=inner, flow_in=flow)
            del inner

        def work(number: int, outer: Any = outer, flow: Any = flow) -> None:
            if number == 0:
                raw.TensorArrayCloseV3(handle=outer)
            else:
                raw.TensorArrayGradV3(handle=outer, flow_in=flow, source=str(number))

        for result in in_parallel(work):
            assert result is None or "already been closed" in str(result), result
    return "done"


def written_once_by_many() -> Any:
    """Exactly one of many writers of one slot of a forward array succeeds."""
    winners = []
    for _ in range(100):
        handle, flow = new_array(size=1)

        def work(number: int, handle: Any = handle, flow: Any = flow) -> int:
            value = [float(number)]
            raw.TensorArrayWriteV3(handle=handle, index=0, value=value, flow_in=flow)
            return number

        results = in_parallel(work)
        (winner,) = [r for r in results if isinstance(r, int)]
        losers = [r for r in results if isinstance(r, Exception)]
        assert all("already been written to" in str(r) for r in losers)
        read = raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
        winners.append(float(read[0]) == winner)
    return all(winners)


def read_once_by_many() -> Any:
    """Exactly one of many readers of a slot gets the value if reading clears the slot."""
    for _ in range(100):
        handle, flow = new_array(size=1)
        raw.TensorArrayWriteV3(handle=handle, index=0, value=[5.0], flow_in=flow)

        def work(number: int, handle: Any = handle, flow: Any = flow) -> float:
            read = raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
            return float(read[0])

        results = in_parallel(work)
        assert [r for r in results if isinstance(r, float)] == [5.0]
        errors = [str(r) for r in results if isinstance(r, Exception)]
        assert all("cleared after a previous read" in e for e in errors)
    return "done"


def scattered_at_once() -> Any:
    """Concurrent scatters to overlapping, repeated indices: no row is lost."""
    for _ in range(30):
        handle, flow = new_array(size=8, element_shape=[64])
        grad, _ = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")

        def work(number: int, grad: Any = grad, flow: Any = flow) -> None:
            rows = np.full([6, 64], float(number + 1), np.float32)
            for _ in range(5):
                raw.TensorArrayScatterV3(
                    handle=grad, indices=[0, 3, 0, 5, 3, 0], value=rows, flow_in=flow
                )

        assert in_parallel(work) == [None] * THREADS
        value = raw.TensorArrayGatherV3(
            handle=grad, indices=range(8), flow_in=flow, dtype=tf.float32
        )
        total = 5.0 * sum(range(1, THREADS + 1))
        want = np.outer([3 * total, 0, 0, 2 * total, 0, total, 0, 0], np.ones(64))
        np.testing.assert_array_equal(value, want)
    return "done"


def made_while_caches_are_cleared() -> Any:
    """Functions with arrays and gradient arrays run while a thread calls Keras' clear_session."""

    @tf.function(autograph=False)
    def total(x: Any) -> Any:
        handle, flow = new_array(size=2)
        flow = raw.TensorArrayWriteV3(handle=handle, index=0, value=x, flow_in=flow)
        grad, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
        flow = raw.TensorArrayWriteV3(handle=grad, index=1, value=x, flow_in=flow)
        return raw.TensorArrayReadV3(handle=grad, index=1, flow_in=flow, dtype=tf.float32)

    end = time.monotonic() + 4.0

    def work(number: int) -> float:
        last = 0.0
        while time.monotonic() < end:
            if number == 0:
                tf.keras.backend.clear_session()
            else:
                last = float(tf.reduce_sum(total(tf.fill([3], float(number)))))
        return last

    return in_parallel(work, 3)


@pytest.mark.parametrize(
    ("race", "want"),
    [
        (made_while_caches_are_cleared, [0.0, 3.0, 6.0]),
        (summed_by_many_threads, True),
        (summed_in_one_session_step, True),
        (closed_while_in_use, ["closed"]),
        (elements_that_own_arrays, "done"),
        (written_once_by_many, True),
        (read_once_by_many, "done"),
        (scattered_at_once, "done"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_concurrent_use_of_an_array_gives_the_expected_result(ours, race, want):
    got = ours.call(f"tests.robustness.concurrency_test:{race.__name__}", timeout=120.0)
    assert not isinstance(got, (kernel_runner.Died, kernel_runner.Hung)), got
    assert got == want
