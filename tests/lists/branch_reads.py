"""Programs that read arrays in branches of conditionals. The callers decide which kernels run."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

Program = Callable[[Any, int], Any]
PROGRAMS: dict[str, Program] = {}


def _program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def _array(x: Any, n: int) -> tf.TensorArray:
    return tf.TensorArray(x.dtype, n, clear_after_read=False, element_shape=x.shape[1:]).unstack(x)


def _loop(n: int, step: Callable[[Any, Any], Any], x: Any) -> Any:
    return tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, 0.5 * h + step(i, h)), (0, x[0]))[
        1
    ]


def _is_positive(x: Any) -> Any:
    return tf.reduce_sum(tf.math.real(x)) > 0


@_program
def in_one_branch(x, n):
    a = _array(x, n)
    return _loop(n, lambda i, h: tf.cond(tf.equal(i % 2, 0), lambda: a.read(i), lambda: 0.0 * h), x)


@_program
def in_both_branches(x, n):
    a = _array(x, n)
    other = lambda i: a.read(n - 1 - i) * 2.0  # noqa: E731
    return _loop(
        n, lambda i, h: tf.cond(tf.equal(i % 2, 0), lambda: a.read(i) * h, lambda: other(i)), x
    )


@_program
def twice_in_a_branch(x, n):
    a = _array(x, n)
    both = lambda i: a.read(i) * a.read(i - 1)  # noqa: E731
    return _loop(n, lambda i, h: tf.cond(i % 3 > 0, lambda: both(i), lambda: h), x)


@_program
def in_nested_branches(x, n):
    a = _array(x, n)
    inner = lambda i: tf.cond(tf.equal(i % 3, 0), lambda: a.read(i), lambda: a.read(0))  # noqa: E731
    return _loop(n, lambda i, h: tf.cond(tf.equal(i % 2, 0), lambda: inner(i), lambda: h), x)


@_program
def by_a_predicate_of_the_branch(x, n):
    a = _array(x, n)

    def inner(i, h):
        return tf.cond(_is_positive(h), lambda: a.read(i), lambda: h)

    return _loop(n, lambda i, h: tf.cond(tf.equal(i % 2, 0), lambda: inner(i, h), lambda: h), x)


@_program
def in_some_of_many_branches(x, n):
    a = _array(x, n)

    def step(i, h):
        branches = (
            lambda: a.read(i), lambda: h, lambda: a.read(i) + a.read(0), lambda: 0.0 * h,
        )  # fmt: skip
        return tf.switch_case(i % 4, branches)

    return _loop(n, step, x)


@_program
def beside_a_read(x, n):
    a = _array(x, n)

    def step(i, h):
        return a.read(i) + tf.cond(tf.equal(i % 2, 0), lambda: a.read(i), lambda: 0.0 * h)

    return _loop(n, step, x)


@_program
def of_an_array_per_branch(x, n):
    a, b = _array(x, n), _array(tf.sin(x), n)
    return _loop(
        n, lambda i, _: tf.cond(tf.equal(i % 2, 0), lambda: a.read(i), lambda: b.read(i)), x
    )


@_program
def by_an_element(x, n):
    a = _array(x, n)
    positive = lambda i: _is_positive(a.read(i))  # noqa: E731
    return _loop(n, lambda i, h: tf.cond(positive(i), lambda: a.read(i), lambda: -h), x)


@_program
def of_an_array_that_grew(x, n):
    shape = x.shape[1:]
    a = tf.TensorArray(x.dtype, 0, dynamic_size=True, element_shape=shape, clear_after_read=False)
    a = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a.write(i, x[i])), (0, a))[1]
    return _loop(n, lambda i, h: tf.cond(tf.equal(i % 2, 0), lambda: a.read(i), lambda: 0.0 * h), x)


@_program
def and_written(x, n):
    a, b = _array(x, n), tf.TensorArray(x.dtype, n, element_shape=x.shape[1:])

    def body(i, h, b):
        read = tf.cond(tf.equal(i % 2, 0), lambda: a.read(i), lambda: h)
        return i + 1, 0.5 * h + read, b.write(i, read)

    return tf.while_loop(lambda i, *_: i < n, body, (0, x[0], b))[2].stack()


@_program
def outside_of_a_loop(x, n):
    a = _array(x, n)
    return tf.cond(_is_positive(x), lambda: a.read(1), lambda: a.read(2) * 2) + a.read(3)


@_program
def in_a_loop_of_a_branch(x, n):
    a = _array(x, n)

    def reads(i, h):
        def body(j, s):
            return j + 1, s + a.read(tf.minimum(i + j, n - 1))

        return tf.while_loop(lambda j, _: j < 3, body, (0, h))[1]

    return _loop(
        n, lambda i, h: tf.cond(tf.equal(i % 2, 0), lambda: reads(i, h), lambda: 0.0 * h), x
    )


@_program
def of_elements_that_differ_in_shape(x, n):
    a = tf.TensorArray(x.dtype, 4, infer_shape=False, clear_after_read=False)
    for k, size in enumerate((1, 3, 2, 4)):
        a = a.write(k, tf.reshape(x, [-1])[:size])

    def body(i, h):
        read = tf.cond(tf.equal(i, 1), lambda: tf.reduce_sum(a.read(i)), lambda: 0.0 * h)
        return i + 1, 0.5 * h + read

    return tf.while_loop(lambda i, _: i < 4, body, (0, tf.reduce_sum(x)))[1]


@_program
def second_order(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(in_one_branch(x, n) ** 3)
    return tape.gradient(y, x)


def _value_and_gradient(name: str, x: Any, n: int) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = PROGRAMS[name](x, n)
        loss = tf.reduce_sum(y * y)
    return [y, tf.convert_to_tensor(tape.gradient(loss, x))]


def _input(n: int, dtype: str) -> Any:
    return tf.constant(np.random.default_rng(1).normal(size=(n, 4)), dtype)


def compute(name: str, n: int, dtype: str) -> list[np.ndarray]:
    """Value and gradient of a program."""
    run = tf.function(lambda x: _value_and_gradient(name, x, n))
    return [value.numpy() for value in run(_input(n, dtype))]


def bytes_of_sums(name: str, n: int) -> int:
    """Bytes that the executor allocates for sums and zeros in one run of a program.

    A sum of lists allocates a value for each element of the list, so this counts the elements that
    are summed. A run that records its allocations is one in the executor.
    """
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        fetched = _value_and_gradient(name, _input(n, "float32"), n)
        recorded = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        session.run(fetched, options=options, run_metadata=recorded)
    devices = recorded.step_stats.dev_stats
    nodes = itertools.chain.from_iterable(device.node_stats for device in devices)
    return sum(
        memory.total_bytes
        for node in nodes
        if any(op in node.node_name for op in ("AddN", "zeros_like", "ZerosLike"))
        for memory in node.memory
    )
