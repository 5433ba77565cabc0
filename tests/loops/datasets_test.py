"""Loops in functions of tf.data run in one kernel, although tf.data collects statistics of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tensor_array_grad import _loader

ELEMENTS, WIDTH, STEPS = 24, 3, 20


def recurrence(x: Any) -> Any:
    def body(i: Any, h: Any) -> Any:
        return i + 1, tf.tanh(h * 0.5 + x)

    return tf.while_loop(lambda i, _: i < STEPS, body, [0, tf.zeros_like(x)])[1]


def is_positive(x: Any) -> Any:
    return tf.reduce_sum(recurrence(x)) > 0.0


def running(state: Any, x: Any) -> Any:
    return recurrence(state + x), recurrence(state * x)


def shuffled_rows(x: Any) -> Any:
    return recurrence(x + tf.random.stateless_uniform([WIDTH], [1, 2]))


Pipeline = Callable[[tf.data.Dataset], tf.data.Dataset]
PIPELINES: dict[str, Pipeline] = {
    "map": lambda data: data.map(recurrence),
    "parallel_map": lambda data: data.map(recurrence, num_parallel_calls=2),
    "autotuned_map": lambda data: data.map(recurrence, num_parallel_calls=tf.data.AUTOTUNE),
    "map_and_batch": lambda data: data.batch(4).map(recurrence, num_parallel_calls=2),
    "random": lambda data: data.map(shuffled_rows),
    "filter": lambda data: data.filter(is_positive),
    "scan": lambda data: data.scan(tf.zeros([WIDTH]), running),
    "interleave": lambda data: data.interleave(
        lambda x: tf.data.Dataset.from_tensors(recurrence(x)), cycle_length=2
    ),
    "prefetch": lambda data: data.map(recurrence).prefetch(2),
}


def elements(name: str) -> tuple[list[np.ndarray], int, int]:
    """The elements of a pipeline, how many loops ran in one kernel, and how many were passed by."""
    rows = np.random.default_rng(0).normal(size=[ELEMENTS, WIDTH]).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices(rows)
    found = [*PIPELINES[name](data).as_numpy_iterator()]
    if name == "map":
        found.append(data.reduce(tf.zeros([WIDTH]), lambda s, x: recurrence(s + x)).numpy())
    counters = _loader.bind().counters()
    return found, counters.get("loops.runs", 0), counters.get("loops.passed_by_for_a_trace", 0)


@pytest.mark.parametrize("name", PIPELINES)
def test_elements_equal_stocks_and_every_loop_runs_in_one_kernel(ours, stocks, name):
    run = "tests.loops.datasets_test:elements"
    got, runs, passed = ours.call(run, name)
    want, _, _ = stocks.call(run, name)
    assert [element.tobytes() for element in got] == [element.tobytes() for element in want]
    assert passed == 0
    assert runs >= ELEMENTS // (4 if name == "map_and_batch" else 1)


def profiled(folder: str) -> tuple[int, int]:
    """How many loops ran in one kernel, and were passed by, while a profiler was active."""
    data = tf.data.Dataset.range(4).map(lambda x: recurrence(tf.cast(x, tf.float32)))
    with tf.profiler.experimental.Profile(folder):
        list(data)
    counters = _loader.bind().counters()
    return counters.get("loops.runs", 0), counters.get("loops.passed_by_for_a_trace", 0)


def test_loops_run_in_one_kernel_while_a_profiler_is_active(ours, tmp_path):
    assert ours.call("tests.loops.datasets_test:profiled", str(tmp_path)) == (4, 0)
