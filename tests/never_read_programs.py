"""Programs with lists that a loop pushes to and never reads.

A push to such a list may fail, and its error must not be lost.
"""

from __future__ import annotations

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
    """Runs a loop in the executor that sums three terms, one of which it pushes for no reader.

    A tensor that is pushed for the gradient of w, which is not asked for, is the first term of an
    AddN. AddN begins with a term whose buffer no other tensor shares.

    Returns:
      The bytes of the sum of the last iteration but one, each that 60 calls gave.
    """

    @tf.function
    def function(x: tf.Tensor, terms: tf.Tensor, w: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            h, before, total = x, x, tf.zeros_like(x)
            for _ in tf.range(4):
                before = h
                pushed = tf.sin(h) * 1.3
                total += tf.stop_gradient(pushed) * w
                small = tf.stop_gradient(tf.cos(pushed + 1.0)) * 0.1
                # A stateful op leaves the loop to the executor.
                h = tf.add_n([pushed, terms, small]) + 0.0 * tf.random.uniform([])
            y = tf.reduce_sum(total) + tf.reduce_sum(h)
        return before, tape.gradient(y, x)

    x, terms = tf.unstack(tf.random.stateless_normal([2, 8], [3, 4]))
    calls = (function(x, terms * 9.0, terms) for _ in range(60))
    return sorted({before.numpy().tobytes().hex() for before, _ in calls})


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
