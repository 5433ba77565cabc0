"""Functions that the cases in `tf.function` share: loops, inputs, gradients, the traced call."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from benchmarks.case import Prepared, timed

WIDTH = 32  # floats in a row of an input, unless a case sets another width

Loss = Callable[..., tf.Tensor]
LoopVars = tuple[Any, ...]
# A function to be traced, and its arguments.
Program = tuple[Callable[..., tf.Tensor], tuple[tf.Tensor, ...]]

# Whether `loop` passes the number of iterations to TensorFlow.
_bounded: contextvars.ContextVar[bool] = contextvars.ContextVar("bounded", default=False)


def prepared(
    function: Callable[..., tf.Tensor], *arguments: tf.Tensor, compiled: bool = False
) -> Prepared:
    """A case that calls `function`, which is traced here.

    Args:
      function: The function to call.
      *arguments: Its arguments.
      compiled: Whether XLA compiles the function, in the first call. `loop` then passes the number
        of iterations to TensorFlow, because XLA refuses the gradient of a loop without it.

    Returns:
      The case. If it is not compiled, it has its compiled form.
    """
    traced = tf.function(function, jit_compile=compiled, autograph=False)
    with _bounded_loops() if compiled else contextlib.nullcontext():
        concrete = traced.get_concrete_function(*arguments)
    call = functools.partial(concrete, *arguments)
    return Prepared(
        run=timed(lambda: call().numpy()),
        result=lambda: call().numpy(),
        compiled=None if compiled else lambda: prepared(function, *arguments, compiled=True),
    )


def loop(n: int, step: Callable[..., LoopVars], *start: Any) -> LoopVars:
    """Runs `step(i, *values)`, which returns new values, for i = 0 .. n - 1.

    Args:
      n: Number of iterations.
      step: The body.
      *start: The values before the first iteration.

    Returns:
      The values after the last iteration.
    """
    _, *last = tf.while_loop(
        lambda i, *_: i < n,
        lambda i, *state: (i + 1, *step(i, *state)),
        (0, *start),
        maximum_iterations=n if _bounded.get() else None,
    )
    return tuple(last)


def values(n: int, width: int = WIDTH) -> npt.NDArray[np.float32]:
    """Normally distributed floats of shape `[n, width]`; the same in every process."""
    return np.random.default_rng(n).standard_normal((n, width), np.float32)


def rows(n: int, width: int = WIDTH) -> tf.Tensor:
    """`values` as a tensor."""
    return tf.constant(values(n, width))


def gradient_of(loss: Loss) -> Callable[[tf.Tensor], tf.Tensor]:
    """The function that returns the gradient of `loss` in its only argument."""

    def gradient(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(x)
        return tape.gradient(value, x)

    return gradient


def value_and_gradients_of(loss: Loss) -> Callable[..., tf.Tensor]:
    """The function that returns `loss` and its gradients in all arguments, as one vector."""

    def run(*arguments: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            value = loss(*arguments)
        return flat([value, *tape.gradient(value, arguments)])

    return run


def of_loss(loss: Loss, width: int = WIDTH) -> Callable[[int], Prepared]:
    """A case of n steps: the gradient of `loss` in an input of n rows."""
    return lambda n: prepared(gradient_of(loss), rows(n, width))


def keras_layer(*arguments: Any, **options: Any) -> Callable[[int], Prepared]:
    """A case of n steps: the program of `keras_gradients`, which has these arguments."""

    def build(n: int) -> Prepared:
        function, inputs = keras_gradients(*arguments, **options)(n)
        return prepared(function, *inputs)

    return build


def keras_gradients(
    kind: str,
    units: int = WIDTH,
    batch: int = 1,
    shape: tuple[int, ...] = (WIDTH,),
    to_input: bool = False,
    **options: Any,
) -> Callable[[int], Program]:
    """A program of n steps: the gradients of a Keras layer that returns sequences.

    Args:
      kind: Name of the layer's class.
      units: Number of its units, or of its filters.
      batch: Number of sequences in its input.
      shape: Of each step of the input.
      to_input: Whether the gradient in the input is computed too, besides those in the weights.
      **options: More arguments of the layer.

    Returns:
      A function that makes the program for one n.
    """

    def build(n: int) -> Program:
        tf.keras.utils.set_random_seed(1)
        layer = getattr(tf.keras.layers, kind)(units, return_sequences=True, **options)
        layer.build([batch, n, *shape])

        def gradients(x: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_mean(tf.square(layer(x)))
            sources = [*layer.trainable_variables, *([x] if to_input else [])]
            return flat(tape.gradient(loss, sources))

        x = rows(batch * n, math.prod(shape))
        return gradients, (tf.reshape(x, [batch, n, *shape]),)

    return build


def flat(tensors: Sequence[tf.Tensor]) -> tf.Tensor:
    """All elements of `tensors` in one vector."""
    return tf.concat([tf.reshape(tensor, [-1]) for tensor in tensors], 0)


@contextlib.contextmanager
def _bounded_loops() -> Iterator[None]:
    token = _bounded.set(True)
    try:
        yield
    finally:
        _bounded.reset(token)
