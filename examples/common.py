"""Functions that the examples share.

The examples print results on stdout and times on stderr, so that `python -m tensor_array_grad
compare examples/x.py` can compare the results.
"""

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import tensorflow as tf

Result = TypeVar("Result")


def timed(what: str, call: Callable[[], Result], calls: int = 3) -> Result:
    """Calls `call` once, which traces it, and then `calls` times more.

    Args:
      what: Name of the measured call, for example "training step". It is printed with the time.
      call: A function whose work is finished when it returns, for example a training step.
      calls: Number of calls that are measured.

    Returns:
      What the last call returned.
    """
    result = call()
    fastest = float("inf")
    for _ in range(calls):
        start = time.perf_counter()
        result = call()
        fastest = min(fastest, time.perf_counter() - start)
    print(f"{what}: {fastest * 1e3:.1f} ms per call, the fastest of {calls}", file=sys.stderr)
    return result


def descend(
    tape: tf.GradientTape, loss: tf.Tensor, variables: list[tf.Variable], rate: float
) -> None:
    """Makes one step of gradient descent: subtracts `rate` times the gradient of `loss`."""
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(rate * gradient)
