"""Loops whose trailing part runs on a second thread: the values and errors of the stock loop.

`two_threads(k)` uses the second thread from iteration k on, however light the loop is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest
import tensorflow as tf

from tensor_array_grad import _loader
from tests.loops import loop_programs as loops
from tests.loops.loop_kernel_test import (
    RUN,
    N,
    a_point,
    assert_same,
    hand_back,
    results_of,
    results_without_the_kernel,
    with_gradient,
)
from tests.support.threads import in_parallel

_USED = "loops.trailing_threads"


@contextlib.contextmanager
def two_threads(after: int) -> Iterator[None]:
    """Uses a second thread, after that many iterations, in every loop with a trailing part."""
    _loader.bind().set_trailing_thread_after(after)
    try:
        yield
    finally:
        _loader.bind().set_trailing_thread_after(-1)


def sums_of_products(x: tf.Tensor) -> tf.Tensor:
    """The gradient of the weights is a sum over all iterations, as in a recurrent layer."""
    weights = tf.reshape(tf.linspace(tf.constant(0.1, x.dtype), 0.9, 4), [2, 2])
    h = tf.zeros([1, 2], x.dtype)
    with tf.GradientTape() as tape:
        tape.watch(weights)
        _, h = tf.while_loop(
            lambda i, _: i < tf.shape(x)[0],
            lambda i, h: (i + 1, tf.tanh(h @ weights + x[i])),
            (0, h),
        )
        loss = tf.reduce_sum(h)
    return tf.reduce_sum(tape.gradient(loss, weights) ** 2)


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("program", RUN)
@pytest.mark.sweep(3)
def test_a_second_thread_changes_nothing(counted, program, after):
    want = results_without_the_kernel(with_gradient(program))
    function = with_gradient(program)
    with two_threads(after):
        for _ in range(3):
            assert_same(results_of(function), want)
    # The variables of rotated_variables depend on each other: none is a sum. The only sum of
    # branch_in_the_body is computed in the branches, and instructions in branches do not trail.
    if after == 0:
        without = ("rotated_variables", "branch_in_the_body")
        assert (counted[_USED] > 0) == (program.__name__ not in without)


@pytest.mark.parametrize("program", [sums_of_products, loops.read_loop, loops.recurrence])
def test_handing_back_with_a_second_thread_changes_nothing(counted, program):
    want = results_without_the_kernel(with_gradient(program))
    function = with_gradient(program)
    for after in range(N + 2):
        with two_threads(0), hand_back(after):
            assert_same(results_of(function), want, f"handed back after {after}")
    assert counted[_USED] > 0


@pytest.mark.parametrize("layer", ["SimpleRNN", "LSTM", "GRU"])
def test_gradients_of_a_layer_have_the_same_bits(counted, layer):
    tf.keras.utils.set_random_seed(3)
    cell = getattr(tf.keras.layers, layer)(8, return_sequences=True)
    x = tf.random.stateless_normal([4, 40, 3], [1, 2])
    cell.build(x.shape)

    def gradients(x: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(cell(x) ** 2)
        return tape.gradient(loss, cell.trainable_variables)

    want = results_without_the_kernel(tf.function(gradients, autograph=False), x)
    function = tf.function(gradients, autograph=False)
    results_of(function, x)
    assert counted[_USED] == 0
    with two_threads(0):
        assert_same(results_of(function, x), want)
    assert counted[_USED] >= 1


def test_an_error_in_the_trailing_part_is_that_of_the_stock_loop(counted):
    @tf.function(autograph=False)
    def quotients(divisors: tf.Tensor) -> tf.Tensor:
        def step(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, total + 60 // divisors[i]

        return tf.while_loop(lambda i, _: i < 6, step, (0, 0))[1]

    with two_threads(0):
        assert quotients(tf.constant([1, 2, 3, 4, 5, 6])).numpy() == 60 + 30 + 20 + 15 + 12 + 10
        assert counted[_USED] == 1
        for at in range(6):
            divisors = np.where(np.arange(6) == at, 0, 1).astype(np.int32)
            with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
                quotients(tf.constant(divisors))
        assert quotients(tf.constant([1] * 6)).numpy() == 360


def powers(first: tf.Tensor, second: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Two recurrences that do not read each other."""

    def step(i: tf.Tensor, a: tf.Tensor, b: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return i + 1, tf.linalg.inv(a) @ first[i], tf.linalg.inv(b) @ second[i]

    return tf.while_loop(lambda i, *_: i < 6, step, (0, first[0], second[0]))[1:]


def test_an_error_in_either_of_two_recurrences_is_that_of_the_stock_loop(counted):
    matrices = tf.constant(np.random.default_rng(1).standard_normal((2, 6, 8, 8)))
    singular = tf.concat([matrices[:, :3], tf.zeros_like(matrices[:, :3])], axis=1)
    want = results_without_the_kernel(tf.function(powers, autograph=False), *matrices)
    function = tf.function(powers, autograph=False)
    with two_threads(0):
        for _ in range(3):
            assert_same(results_of(function, *matrices), want)
        assert counted[_USED] == 3
        for arguments in ((singular[0], matrices[1]), (matrices[0], singular[1])):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Input is not invertible"):
                function(*arguments)
        assert_same(results_of(function, *matrices), want)


def test_a_side_effect_that_waits_for_a_term_does_not_happen_if_the_term_fails():
    counter = tf.Variable(0)

    @tf.function(autograph=False)
    def quotients(divisors: tf.Tensor) -> tf.Tensor:
        def step(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            quotient = 60 // divisors[i]
            with tf.control_dependencies([quotient]):
                counter.assign_add(1)
            return i + 1, total + quotient

        return tf.while_loop(lambda i, _: i < 6, step, (0, 0))[1]

    with two_threads(0):
        for at in range(6):
            counter.assign(0)
            divisors = np.where(np.arange(6) == at, 0, 1).astype(np.int32)
            with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
                quotients(tf.constant(divisors))
            assert counter.numpy() == at


def test_a_node_that_nothing_needs_sees_the_sums(counted):
    """Without TensorFlow's optimizer such a node stays in the graph, and it may fail."""

    def sums(x: tf.Tensor) -> tf.Tensor:
        def step(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            checked = tf.ensure_shape(total, [2])
            with tf.control_dependencies([checked]):
                i = i + 1
            return i, total + x[i - 1]

        return tf.while_loop(lambda i, _: i < N, step, (0, tf.zeros_like(x[0])))[1]

    options = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        want = results_without_the_kernel(tf.function(sums, autograph=False))
        with two_threads(0):
            assert_same(results_of(tf.function(sums, autograph=False)), want)
    finally:
        options["disable_meta_optimizer"] = options.get("disable_meta_optimizer", False)
        tf.config.optimizer.set_experimental_options(options)
    assert counted["loops.runs"] >= 1


def test_a_sum_of_three_terms_has_the_bits_of_one_thread(counted):
    a, c = (tf.random.stateless_normal([50], [k, 1]) * 1e3 for k in (1, 2))

    @tf.function(autograph=False)
    def sums(start: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def step(i: tf.Tensor, h: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, ...]:
            h = tf.raw_ops.AddN(inputs=[a, c, h])
            return i + 1, h, total + tf.sin(h)

        return tf.while_loop(lambda i, *_: i < 40, step, (0, start, start))[1:]

    with two_threads(2**62):
        want = results_of(sums, tf.zeros([50]))
    with two_threads(0):
        for _ in range(10):
            assert_same(results_of(sums, tf.zeros([50])), want)
    assert counted[_USED] == 0


def test_a_loop_with_parallel_iterations_1_uses_one_thread(counted):
    def total(x: tf.Tensor) -> tf.Tensor:
        def step(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, total + x[i]

        return tf.while_loop(lambda i, _: i < N, step, (0, x[0]), parallel_iterations=1)[1]

    want = results_without_the_kernel(tf.function(total, autograph=False))
    with two_threads(0):
        assert_same(results_of(tf.function(total, autograph=False)), want)
    assert counted["loops.runs"] >= 1
    assert counted[_USED] == 0


def test_concurrent_calls_of_one_function_do_not_disturb_each_other(counted):
    x = tf.constant(np.tile(a_point(), (20, 1)))
    want = results_without_the_kernel(with_gradient(sums_of_products), x)
    function = with_gradient(sums_of_products)
    results_of(function, x)

    def call_often(_) -> None:
        for _ in range(20):
            assert_same(results_of(function, x), want)

    with two_threads(0):
        assert in_parallel(call_often, threads=4) == [None] * 4
    assert counted[_USED] >= 80
