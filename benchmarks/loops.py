"""Loops of typical programs: `python -m benchmarks.loops [--quick] [case ...]`.

`benchmarks.lists` measures the cost of single uses of an array in a loop. The cases here are a loop
without arrays, filters that run over a series of observations, and loops with an expensive body:
large matrix products, or ops that can run in parallel. The time of an expensive body depends on how
well its ops are scheduled.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks import harness
from benchmarks.case import Case, Prepared
from benchmarks.lists import decay
from benchmarks.traced import (
    LoopVars,
    gradient_of,
    keras_layer,
    loop,
    prepared,
    rows,
    value_and_gradients_of,
)

_MATRIX = 64  # rows of each matrix of `determinants`
_CHAINS = 4
_LINKS = 10  # tanh ops in a chain, one after the other
STATES = 8  # of the hidden Markov model


def _plain_forward(n: int) -> Prepared:
    return prepared(lambda row: decay(row, n), rows(1)[0])


def kalman_log_likelihood(
    series: tf.Tensor, transition: tf.Tensor, state_noise: tf.Tensor, noise: tf.Tensor
) -> tf.Tensor:
    """The log-likelihood of a series according to a Kalman filter.

    The state x and the observation y are vectors of two floats: x' = A x + e and y = x + f, where e
    and f are normally distributed noise. Before the first step x is distributed as N(0, I).

    Args:
      series: The observations, of shape `[n, 2]`.
      transition: A, of shape `[2, 2]`.
      state_noise: The logarithms of the variances of e, of shape `[2]`.
      noise: The logarithms of the variances of f, of shape `[2]`.

    Returns:
      The log-likelihood, a scalar.
    """
    added, observed = tf.linalg.diag(tf.exp(state_noise)), tf.linalg.diag(tf.exp(noise))

    def step(filtered: LoopVars, y: tf.Tensor) -> LoopVars:
        mean, covariance, _ = filtered
        mean = tf.linalg.matvec(transition, mean)
        covariance = transition @ covariance @ tf.transpose(transition) + added
        total = covariance + observed
        inverse = tf.linalg.inv(total)
        surprise = y - mean
        gain = covariance @ inverse
        distance = tf.reduce_sum(surprise * tf.linalg.matvec(inverse, surprise))
        likelihood = -0.5 * (distance + tf.math.log(tf.linalg.det(total))) - np.log(2 * np.pi)
        mean = mean + tf.linalg.matvec(gain, surprise)
        return mean, covariance - gain @ covariance, likelihood

    *_, likelihoods = tf.scan(step, series, (tf.zeros([2]), tf.eye(2), tf.constant(0.0)))
    return tf.reduce_sum(likelihoods)


def kalman_arguments(n: int) -> tuple[tf.Tensor, ...]:
    """A series of n observations, and parameters of the filter."""
    turn = tf.constant([[0.9, 0.2], [-0.2, 0.9]])
    return rows(n, 2), turn, tf.constant([-1.0, -1.5]), tf.constant([0.5, 0.2])


def _kalman(n: int) -> Prepared:
    series, *parameters = kalman_arguments(n)
    filtered = value_and_gradients_of(lambda *values: kalman_log_likelihood(series, *values))
    return prepared(filtered, *parameters)


def markov_log_likelihood(emissions: tf.Tensor, transition: tf.Tensor) -> tf.Tensor:
    """The log-likelihood of a series in a hidden Markov model, by the forward algorithm.

    Args:
      emissions: The log-probability of each observation in each state, of shape `[n, states]`.
      transition: Logits, of shape `[states, states]`: row i has those of the states that follow i.

    Returns:
      The log-likelihood, a scalar; all states are equally probable at first.
    """
    follows = tf.nn.log_softmax(transition)

    def step(alpha: tf.Tensor, emission: tf.Tensor) -> tf.Tensor:
        return tf.reduce_logsumexp(alpha[:, tf.newaxis] + follows, 0) + emission

    start = emissions[0] - np.log(emissions.shape[1])
    return tf.reduce_logsumexp(tf.scan(step, emissions[1:], start)[-1])


def markov_arguments(n: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Log-probabilities of n observations, and logits of transitions."""
    return -tf.square(rows(n, STATES)), rows(STATES, STATES)


def _markov(n: int) -> Prepared:
    return prepared(value_and_gradients_of(markov_log_likelihood), *markov_arguments(n))


def determinants(x: tf.Tensor) -> tf.Tensor:
    """The sum of the determinants of matrices near the identity, one for each row of `x`."""
    near = tf.reshape(x, [-1, _MATRIX, _MATRIX]) * 0.02 + tf.eye(_MATRIX)
    return tf.reduce_sum(tf.map_fn(tf.linalg.det, near))


def chains(x: tf.Tensor, n: int) -> tf.Tensor:
    """The sum of all elements of four vectors that n iterations compute from the rows of `x`.

    Each iteration adds to each vector its row of `x`, and applies tanh to the sum ten times.
    """
    added = tf.unstack(x, _CHAINS)

    def step(_: tf.Tensor, *values: tf.Tensor) -> LoopVars:
        found = []
        for value, row in zip(values, added, strict=True):
            value = value + row
            for _ in range(_LINKS):
                value = tf.tanh(value)
            found.append(value)
        return tuple(found)

    start = [tf.zeros_like(row) for row in added]
    return tf.add_n([tf.reduce_sum(value) for value in loop(n, step, *start)])


def _determinants(with_gradient: bool) -> Callable[[int], Prepared]:
    function = gradient_of(determinants) if with_gradient else determinants
    return lambda n: prepared(function, rows(n, _MATRIX**2))


def _chains(width: int, with_gradient: bool) -> Callable[[int], Prepared]:
    def build(n: int) -> Prepared:
        def run(x: tf.Tensor) -> tf.Tensor:
            return chains(x, n)

        return prepared(gradient_of(run) if with_gradient else run, rows(_CHAINS, width))

    return build


def _paths(count: int, rule: str) -> Callable[[int], Prepared]:
    """The mean end of `count` paths of n steps, with the random numbers of `rule`.

    The numbers of an op with a seed are drawn in order only if each draw waits for the one before.

    Args:
      count: Number of paths.
      rule: `stateful`: of an op with a seed; `stateless`: of an op whose state is the step.
    """

    def build(n: int) -> Prepared:
        def run(x: tf.Tensor) -> tf.Tensor:
            def step(i: tf.Tensor, h: tf.Tensor) -> LoopVars:
                if rule == "stateful":
                    with tf.control_dependencies([h]):
                        noise = tf.random.normal([count], seed=1)
                else:
                    noise = tf.random.stateless_normal([count], tf.stack([i, 1]))
                return (h + 0.01 * h + 0.1 * tf.sqrt(tf.abs(h)) * noise,)

            return tf.reduce_mean(loop(n, step, x)[0])

        return prepared(run, tf.ones([count]))

    return build


def _dropout(n: int) -> Prepared:
    """The gradient of a cell with dropout of its state."""

    def loss(x: tf.Tensor) -> tf.Tensor:
        def step(i: tf.Tensor, h: tf.Tensor) -> LoopVars:
            with tf.control_dependencies([h]):
                return (tf.nn.dropout(tf.tanh(h * 0.5 + x[i]), 0.2, seed=1),)

        return tf.reduce_sum(loop(n, step, tf.zeros_like(x[0]))[0])

    return prepared(gradient_of(loss), rows(n))


_conv_lstm = keras_layer("ConvLSTM2D", 4, 4, (24, 24, 1), kernel_size=3, padding="same")


def _of_a_function(**options: Any) -> Callable[[int], Prepared]:
    """The gradient of a loop that calls a function, which TensorFlow does not inline."""

    def build(n: int) -> Prepared:
        cell = tf.function(lambda x, h: tf.tanh(h * 0.5 + x), autograph=False, **options)

        def loss(x: tf.Tensor) -> tf.Tensor:
            return tf.reduce_sum(loop(n, lambda i, h: (cell(x, h),), x)[0])

        return prepared(gradient_of(loss), rows(1)[0])

    return build


_called = _of_a_function(experimental_attributes={"api_implements": "a_cell"})
_called_xla = _of_a_function(jit_compile=True)


def _chain_cases(width: int, n: int) -> tuple[Case, Case]:
    """The case with vectors of `width` floats, and the same case with its gradient.

    A loop without a gradient has no list, so none of our kernels need run in it.
    """
    what = f"4 chains of 10 tanh of {width:,} floats"
    name, heavy = f"chains_{width}", 0.95
    return (
        Case(name, what, (n,), _chains(width, False), heavy, uses_arrays=False),
        Case(f"{name}_gradient", f"{what}, gradient", (n,), _chains(width, True), heavy),
    )


CASES = (
    Case(
        "plain_forward",
        "a loop without arrays or gradient",
        (25_600,),
        _plain_forward,
        5.0,
        uses_arrays=False,
    ),
    Case("kalman", "a Kalman filter of 2 x 2 matrices by tf.scan", (2_000,), _kalman, 2.7),
    Case("markov", "a hidden Markov model by tf.scan", (4_000,), _markov, 22.0),
    Case("lstm_128", "Keras, 32 x 128 units", (400,), keras_layer("LSTM", 128, 32), 1.3),
    Case("lstm_256", "Keras, 64 x 256 units", (200,), keras_layer("LSTM", 256, 64, (256,)), 0.95),
    Case("conv_lstm", "Keras ConvLSTM2D, 24 x 24 pixels", (12,), _conv_lstm, 1.0),
    Case("determinants", "determinants by tf.map_fn, 64 x 64", (400,), _determinants(False), 0.95),
    Case(
        "determinants_gradient",
        "determinants by tf.map_fn, 64 x 64, gradient",
        (400,),
        _determinants(True),
        0.95,
    ),
    Case("paths", "64 random paths", (2_000,), _paths(64, "stateful"), 3.0, uses_arrays=False),
    Case(
        "stateless_paths",
        "64 random paths, stateless",
        (2_000,),
        _paths(64, "stateless"),
        2.0,
        uses_arrays=False,
    ),
    Case(
        "many_paths",
        "100,000 random paths",
        (100,),
        _paths(100_000, "stateful"),
        0.95,
        uses_arrays=False,
    ),
    Case("dropout", "a cell with dropout, gradient", (1_600,), _dropout, 4.0),
    Case("called", "a cell in a function that stays a call, gradient", (1_600,), _called, 6.0),
    Case("called_xla", "the same, compiled by XLA", (1_600,), _called_xla, 1.3),
    *_chain_cases(4_096, 400),
    *_chain_cases(256, 1_600),
)


if __name__ == "__main__":
    sys.exit(harness.main("benchmarks.loops", CASES))
