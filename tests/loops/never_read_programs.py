"""Programs with lists that a loop pushes to and never reads.

A push to such a list may fail, and its error must not be lost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import tensorflow as tf

STEPS = 5


def pushed_alone(bound: int, sizes: list[int]) -> int:
    """Runs a loop that counts its iterations in a variable and pushes to a list.

    Returns:
      The number of iterations.
    """
    iterations = tf.Variable(0)

    @tf.function
    def function(sizes: tf.Tensor) -> None:
        filled = _list_of_pairs(bound)
        tf.while_loop(lambda i, _: i < STEPS, _push(iterations, sizes), (0, filled))

    function(tf.constant(sizes))
    return int(iterations)


def pushed_beside_a_gradient(bound: int, sizes: list[int]) -> tuple[int, list[float]]:
    """As `pushed_alone`, with a further loop variable, whose gradient is computed.

    Returns:
      The number of iterations, and the gradient.
    """
    iterations = tf.Variable(0)

    @tf.function
    def function(x: tf.Tensor, sizes: tf.Tensor) -> tf.Tensor:
        push = _push(iterations, sizes)

        def body(i: tf.Tensor, filled: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor, ...]:
            return *push(i, filled), h * tf.exp(h)

        with tf.GradientTape() as tape:
            tape.watch(x)
            filled = _list_of_pairs(bound)
            h = tf.while_loop(lambda i, *_: i < STEPS, body, (0, filled, x))[2]
        return tape.gradient(h, x)

    gradient = function(tf.constant([0.1, 0.2]), tf.constant(sizes))
    return int(iterations), gradient.numpy().tolist()


def summed_beside_a_push() -> list[str]:
    """Runs a loop in the executor that sums three terms, of which it pushes the first, a.

    Only the gradient of w, which is not computed, needs the push. AddN begins with a term whose
    buffer no other tensor shares, and the list shares the buffer of a.

    Returns:
      The distinct hashes of the sum in the last iteration but one, over 100 calls.
    """

    @tf.function
    def function(x: tf.Tensor, b: tf.Tensor, w: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            h = x
            before = x
            added = tf.zeros_like(x)
            for _ in tf.range(4):
                before = h
                a = tf.sin(h) * 1.3
                r = tf.random.uniform([])  # because of this op the loop is left to the executor
                added += tf.stop_gradient(a) * w
                h = tf.add_n([a, b, tf.stop_gradient(tf.cos(a + 1.0)) * 0.1]) + 0.0 * r
            y = tf.reduce_sum(added) + tf.reduce_sum(h)
        return before, tape.gradient(y, x)

    x, b = tf.unstack(tf.random.stateless_normal([2, 500], [3, 4]) * [[1.0], [9.0]])
    befores = (function(x, b, b)[0] for _ in range(100))
    return sorted({hashlib.sha256(before.numpy()).hexdigest() for before in befores})


def _list_of_pairs(bound: int) -> tf.Tensor:
    return tf.raw_ops.EmptyTensorList(
        element_shape=[2], max_num_elements=bound, element_dtype=tf.float32
    )


def _push(iterations: tf.Variable, sizes: tf.Tensor) -> Callable[..., tuple[tf.Tensor, tf.Tensor]]:
    """Returns a body that counts its runs and pushes a vector of sizes[i] ones to the list."""

    def body(i: tf.Tensor, filled: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        iterations.assign_add(1)
        row = tf.ones(sizes[i : i + 1])
        return i + 1, tf.raw_ops.TensorListPushBack(input_handle=filled, tensor=row)

    return body
