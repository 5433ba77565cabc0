"""The names that TensorFlow keeps private and that this package needs, all of them here.

tests/drop_in_test.py has a test for each that fails when a release of TensorFlow moves it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from tensorflow.python.client import session
from tensorflow.python.eager import context
from tensorflow.python.framework import kernels, ops
from tensorflow.python.ops.parallel_for import pfor

GradientFunction = Callable[..., Any]

# A trace of a `tf.function` without its backward function; the function around an eager op of ours.
_FUNCTION = re.compile(r"__inference_(?!__backward_)|__wrapped__\w*Tensor(Array|List)")


def gradient_function(op_type: str) -> GradientFunction | None:
    """The gradient function that TensorFlow's registry holds for `op_type`.

    Args:
      op_type: Name of an op, for example "TensorListGather".

    Returns:
      The function; None for an op that is registered as not differentiable.

    Raises:
      LookupError: The registry has no entry for `op_type`.
    """
    found: GradientFunction | None = ops.gradient_registry.lookup(op_type)
    return found


def replace_gradient(op_type: str, function: GradientFunction) -> None:
    """Makes `function` the gradient of every op of type `op_type`, whatever was there before.

    `tf.RegisterGradient` refuses a second registration; this is what it would do.

    Args:
      op_type: Name of an op.
      function: Takes the op and one gradient for each output, returns one for each input.
    """
    ops.gradient_registry._registry.pop(op_type, None)
    ops.gradient_registry.register(function, op_type)


def wrap_vectorization(op_type: str, wrapper: Callable[..., Any]) -> None:
    """Puts `wrapper` around the function by which pfor runs an op for all iterations at once.

    Args:
      op_type: Name of an op that pfor has a function for.
      wrapper: Takes that function and pfor's description of the inputs, `input(i)` of which has
        `is_stacked`; returns what the function would, a tuple whose `t` is the tensor.

    Raises:
      LookupError: pfor has no function for `op_type`.
    """
    converters = pfor._pfor_converter_registry
    converters[op_type] = functools.partial(wrapper, converters[op_type])


def registered_kernels(op_type: str) -> list[tuple[str, int]]:
    """The kernels that TensorFlow has for an op.

    Args:
      op_type: Name of an op.

    Returns:
      `(device type, priority)` of each.
    """
    found = kernels.get_registered_kernels_for_op(op_type)
    return [(kernel.device_type, kernel.priority) for kernel in found.kernel]


def functions_and_sessions() -> tuple[int, int]:
    """What this process has made that may hold kernels.

    Initializes nothing: devices can still be configured afterwards.

    Returns:
      How many `tf.function`s that are alive have been traced, each signature counted (eager
      TensorArray and TensorList ops, for which TensorFlow makes functions of its own, too), and how
      many Sessions were created. Whether they have run, TensorFlow does not say.
    """
    eager = context.context_safe()
    names = eager.list_function_names() if eager is not None and eager._initialized else ()
    functions = [name for name in names if _FUNCTION.match(name)]
    sessions: int = session._python_session_create_counter.get_cell().value()
    return len(functions), sessions
