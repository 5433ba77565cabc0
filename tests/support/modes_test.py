"""Tests of `modes`. The numeric check of gradients must fail on wrong gradients."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.support import modes


def loop_product(x, y):
    """Sum over i of x[i] * y, through a TensorArray and a loop."""
    array = tf.TensorArray(x.dtype, size=3).unstack(x)
    end = tf.while_loop(
        lambda i, _: i < 3,
        lambda i, total: (i + 1, total + array.read(i) * y),
        (0, tf.zeros_like(y)),
    )
    return end[1]


def test_a_program_gives_the_same_value_in_each_mode(mode):
    x, y = np.arange(6.0).reshape(3, 2), np.array([1.0, 10.0])
    np.testing.assert_allclose(mode(loop_product)(x, y), [6.0, 90.0])


def test_a_program_has_the_same_gradient_in_each_mode(mode):
    x, y = np.arange(6.0).reshape(3, 2), np.array([1.0, 10.0])
    gradient_x, gradient_y = mode.gradient(loop_product)(x, y)
    np.testing.assert_allclose(gradient_x, [[1.0, 10.0]] * 3)
    np.testing.assert_allclose(gradient_y, [6.0, 9.0])


@pytest.mark.parametrize("n", [0, 1, 7])
def test_the_numeric_check_accepts_a_right_gradient(mode, n):
    x = np.random.default_rng(n).normal(size=(n, 3))
    exact = modes.assert_gradients_are_numeric(mode, lambda t: t * t * t, x)
    assert exact[0].shape == (n, 3)


def test_the_numeric_check_refuses_a_wrong_gradient(mode):
    @tf.custom_gradient
    def twice(t):
        return 2.0 * t, lambda upstream: 3.0 * upstream

    with pytest.raises(AssertionError, match="input 0"):
        modes.assert_gradients_are_numeric(mode, twice, np.ones([2, 2]))


def test_the_numeric_check_refuses_a_gradient_on_the_wrong_element(mode):
    @tf.custom_gradient
    def same(t):
        return tf.identity(t), lambda upstream: tf.reverse(upstream, [0])

    with pytest.raises(AssertionError, match="input 0"):
        modes.assert_gradients_are_numeric(mode, same, np.ones([2]))
