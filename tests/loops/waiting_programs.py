"""Programs in which a queue or a function of Python waits for what comes out of a loop.

Each returns its results, and why TensorFlow's executor ran loops with the library.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

import tensor_array_grad

v1 = tf.compat.v1
Result = tuple[Any, Mapping[str, int]]

_PATIENCE_S = 20  # of the functions of Python, which then return a wrong result


def _reasons(result: Any) -> Result:
    return result, dict(tensor_array_grad.status().loops_left)


def _doubled(n: Any, x: Any) -> Any:
    """A counter and `x`, which is doubled n times: each may leave the loop before the other."""
    return tf.while_loop(lambda i, _: i < n, lambda i, x: (i + 1, x * 2.0), (0, x))


def enqueue_the_counter() -> Result:
    """Another thread answers the counter, which is enqueued, with the value that is doubled."""
    counters = tf.queue.FIFOQueue(10, [tf.int32], [[]])
    answers = tf.queue.FIFOQueue(10, [tf.float32], [[]])

    @tf.function
    def run(n: tf.Tensor) -> tf.Tensor:
        i, x = _doubled(n, answers.dequeue())
        counters.enqueue(i)
        return x

    answer = threading.Thread(target=lambda: answers.enqueue(float(counters.dequeue())))
    answer.start()
    result = run(tf.constant(3)).numpy()
    answer.join()
    return _reasons(result)


def enqueue_what_the_second_loop_counts() -> Result:
    """As `enqueue_the_counter`. The second loop needs the counter of the first, but does not count
    with it."""
    counters = tf.queue.FIFOQueue(10, [tf.int32], [[]])
    answers = tf.queue.FIFOQueue(10, [tf.float32], [[]])

    @tf.function
    def run(n: tf.Tensor) -> tf.Tensor:
        i, x = _doubled(n, answers.dequeue())
        j, y = _doubled(n, tf.cast(i, tf.float32))
        counters.enqueue(j)
        return x + y

    answer = threading.Thread(target=lambda: answers.enqueue(float(counters.dequeue())))
    answer.start()
    result = run(tf.constant(3)).numpy()
    answer.join()
    return _reasons(result)


def enqueue_the_counter_in_a_session() -> Result:
    with tf.Graph().as_default(), v1.Session() as session:
        counters = tf.queue.FIFOQueue(10, [tf.int32], [[]])
        i, x = _doubled(3, tf.cast(counters.dequeue(), tf.float32))
        return _reasons(session.run([x, counters.enqueue(i)])[0])


def run_in_parts() -> Result:
    """The first part of a run needs a value that leaves the loop before `later` is fed."""
    with tf.Graph().as_default(), v1.Session() as session:
        first, later = v1.placeholder(tf.float32, []), v1.placeholder(tf.float32, [])
        _, x, y = v1.while_loop(
            lambda i, *_: i < 3, lambda i, x, y: (i + 1, x * 2.0, y + later), (0, first, first)
        )
        run = session.partial_run_setup([x, y], [first, later])
        results = session.partial_run(run, x, {first: 1.0}), session.partial_run(run, y, {later: 5})
        return _reasons(results)


def python_of_two_iterations() -> Result:
    """The first iteration waits for a later one."""
    later = threading.Event()

    def wait(i: Any) -> np.int32:
        if i == 0:
            return np.int32(later.wait(_PATIENCE_S))
        later.set()
        return np.int32(2)

    with tf.Graph().as_default(), v1.Session() as session:
        mapped = tf.map_fn(lambda i: v1.py_func(wait, [i], tf.int32), tf.range(3))
        return _reasons(session.run(mapped))


def python_of_two_iterations_of_an_inner_loop() -> Result:
    """The same in a loop, of which each iteration needs the one before."""
    later = threading.Event()

    def wait(i: Any, total: Any) -> np.int32:
        if i == 0:
            return np.int32(later.wait(_PATIENCE_S))
        later.set()
        return total

    def step(k: Any, total: Any) -> Any:
        mapped = tf.map_fn(lambda i: v1.py_func(wait, [i, total], tf.int32), tf.range(3))
        return k + 1, total + tf.reduce_sum(tf.ensure_shape(mapped, [3]))

    with tf.Graph().as_default(), v1.Session() as session:
        return _reasons(session.run(v1.while_loop(lambda k, _: k < 2, step, (0, 1))[1]))


def two_of_python() -> Result:
    """In each iteration one function waits for another one that TensorFlow begins later."""
    values: queue.Queue[Any] = queue.Queue()

    def take(_: Any) -> np.float32:
        return np.float32(values.get(timeout=_PATIENCE_S))

    def put(x: Any) -> np.float32:
        values.put(x)
        return np.float32(0)

    def step(i: Any, x: Any) -> Any:
        taken, zero = (v1.py_func(f, [x], tf.float32) for f in (take, put))
        return i + 1, tf.ensure_shape(taken + zero + x, [])

    with tf.Graph().as_default(), v1.Session() as session:
        return _reasons(session.run(v1.while_loop(lambda i, _: i < 2, step, (0, 1.0))[1]))


def environment() -> Result:
    """A function of Python whose state is passed on by a loop variable, as in reinforcement
    learning; and one of which no edge says when it runs, because TensorFlow puts it in order."""
    seen: list[float] = []

    @tf.function
    def run(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(4):
            x = tf.ensure_shape(tf.numpy_function(lambda x: x * np.float32(2), [x], x.dtype), [])
            tf.py_function(lambda x: seen.append(float(x)), [x], [])
        return x

    return _reasons((run(tf.constant(1.0)).numpy(), *seen))


def log_of_a_recurrence() -> Result:
    """The loop starts with zeros, and needs the element in each iteration."""
    elements = iter(tf.data.Dataset.from_tensors(np.arange(6, dtype=np.float32).reshape(3, 2)))
    logged: list[Any] = []

    @tf.function
    def run() -> None:
        x, h = next(elements), tf.zeros(2)
        for i in tf.range(3):
            h = h * 0.5 + x[i]
        tf.py_function(lambda h: logged.append(h.numpy()), [h], [])

    run()
    return _reasons(logged)


def element_of_a_dataset() -> Result:
    """A value for which the loop waits, although it could begin without it."""
    elements = iter(tf.data.Dataset.range(3))

    @tf.function
    def run() -> tf.Tensor:
        return _doubled(3, tf.cast(next(elements), tf.float32))[1] + float(next(elements))

    return _reasons(run().numpy())
