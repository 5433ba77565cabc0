"""Loops that index a tensor: `python -m benchmarks.indexing [--quick] [case ...]`.

The gradient of `x[i]` is a tensor of the size of x that is zero except for the part that was read.
Stock adds such a tensor in each iteration, ours adds only the part. Each case is the gradient of a
loop of n steps, timed as one call of the traced function or as one run of a Session. The harness
compares stock's gradient with ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import tensorflow as tf

from benchmarks import harness
from benchmarks.case import Case, Prepared, of_call
from benchmarks.traced import (
    WIDTH,
    Loss,
    gradient_of,
    loop,
    of_loss,
    prepared,
    rows,
    values,
)

_STEPS = (1_600, 3_200, 6_400, 12_800, 25_600)
_BATCH = 8  # sequences of `column`

Read = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def _loss(read: Read, steps: int | None = None) -> Loss:
    """The sum of squares of h after a loop over i with the body h = h / 2 + read(x, i).

    Args:
      read: Computes the tensor that iteration i adds, from x and i.
      steps: Number of iterations; None for one per row of x.
    """

    def loss(x: tf.Tensor) -> tf.Tensor:
        step = lambda i, h: (h * 0.5 + read(x, i),)  # noqa: E731
        (h,) = loop(steps or x.shape[0], step, tf.zeros_like(read(x, tf.constant(0))))
        return tf.reduce_sum(h * h)

    return loss


index = _loss(lambda x, i: x[i])


def _column(n: int) -> Prepared:
    sequences = tf.reshape(rows(n), [_BATCH, n, WIDTH // _BATCH])
    return prepared(gradient_of(_loss(lambda x, i: x[:, i], n)), sequences)


def _embedding(n: int, every: int = 1) -> Prepared:
    """A lookup in each iteration, or in a branch that every second, third ... iteration takes."""
    table = tf.Variable(values(n))

    def gradient(ids: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            start = tf.zeros([WIDTH])
            read = lambda i: tf.nn.embedding_lookup(table, ids[i])  # noqa: E731

            def step(i: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor]:
                if every == 1:
                    return (h * 0.5 + read(i),)
                return (tf.cond(i % every == 0, lambda: h * 0.5 + read(i), lambda: h),)

            (h,) = loop(n, step, start)
            loss = tf.reduce_sum(h * h)
        return tf.convert_to_tensor(tape.gradient(loss, table))

    return prepared(gradient, tf.random.stateless_uniform([n], [1, 2], 0, n, tf.int32))


def _in_session(n: int) -> Prepared:
    """The gradient of `index` as a TF1 graph with control flow v1."""
    v1 = tf.compat.v1
    x_values = values(n)
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        try:
            x = v1.placeholder(tf.float32, x_values.shape)
            (gradient,) = tf.gradients(index(x), x)
        finally:
            v1.enable_control_flow_v2()
    session = v1.Session(graph=graph)
    return of_call(lambda: session.run(gradient, {x: x_values}))


def _case(name: str, what: str, build: Callable[[int], Prepared]) -> Case:
    return Case(name, what, _STEPS, build, {6_400: 40.0, 25_600: 200.0})


CASES = (
    _case("index", "x[i]", of_loss(index)),
    _case("column", "x[:, i] of 8 sequences", _column),
    _case("gather", "tf.gather(x, i)", of_loss(_loss(tf.gather))),
    _case("two", "x[i] + x[i - 1]", of_loss(_loss(lambda x, i: x[i] + x[i - 1] * 0.5))),
    Case(
        "branch",
        "x[i] in a cond",
        _STEPS,
        of_loss(_loss(lambda x, i: tf.cond(i % 2 == 0, lambda: x[i], lambda: tf.zeros_like(x[0])))),
    ),
    _case("embedding", "tf.nn.embedding_lookup", _embedding),
    _case("embedding_in_branch", "the same in a cond", lambda n: _embedding(n, every=2)),
    _case("session", "x[i] in a TF1 graph", _in_session),
    Case("short", "x[i], 10 steps", (10,), of_loss(index)),
    Case("large_rows", "x[i], rows of 4 MB", (40,), of_loss(index, 1_000_000)),
)


if __name__ == "__main__":
    sys.exit(harness.main("benchmarks.indexing", CASES))
