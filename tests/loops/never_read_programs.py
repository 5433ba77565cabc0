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
