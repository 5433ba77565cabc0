"""All private names of TensorFlow that this package uses.

tests/package/drop_in_test.py has a test for each name, which fails if a release of TensorFlow
moves it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from tensorflow.python.client import session
from tensorflow.python.eager import context
from tensorflow.python.framework import func_graph, kernels, ops
from tensorflow.python.ops.parallel_for import pfor

GradientFunction = Callable[..., Any]

# Matches the name of a trace of a `tf.function`, but not of its backward function, and the name of
# the function that TensorFlow makes around an eager TensorArray or TensorList op.
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
    """Makes `function` the gradient of every op of type `op_type`, replacing any other function.

    `tf.RegisterGradient` refuses a second registration, so this removes the first one.

    Args:
      op_type: Name of an op.
      function: Takes the op and one gradient for each output, returns one for each input.
    """
    ops.gradient_registry._registry.pop(op_type, None)
    ops.gradient_registry.register(function, op_type)


def wrap_vectorization(op_type: str, wrapper: Callable[..., Any]) -> None:
    """Wraps the function by which pfor runs an op for all iterations at once.

    Args:
      op_type: Name of an op that pfor has a function for.
      wrapper: Takes that function and pfor's description of the inputs, whose `input(i)` has
        `is_stacked`. Returns the same kind of value as the function: a tuple whose `t` is the
        tensor.

    Raises:
      LookupError: pfor has no function for `op_type`.
    """
    converters = pfor._pfor_converter_registry
    converters[op_type] = functools.partial(wrapper, converters[op_type])


def control_flow_op(graph: Any) -> Any:
    """The op that runs `graph`, if TensorFlow has begun to build that op's gradient.

    Args:
      graph: Any graph.

    Returns:
      The While op of which `graph` is the body or the condition, or the If or Case op of which it
      is a branch. None for other graphs, and before a gradient of the op is built.
    """
    return getattr(graph, "_while", None) or getattr(graph, "_forward_cond", None)


def is_within_loop_or_branch_of_function(graph: Any) -> bool:
    """Whether `graph` is the body of a loop or a branch in the graph of a `tf.function`.

    Any tensor of a graph of `tf.compat.v1.wrap_function` can be fed: its `prune` makes functions.

    Args:
      graph: Any graph.

    Returns:
      False for other graphs, also for loops and branches in the graph of a Session or of
      `wrap_function`.
    """
    outermost = graph
    while (op := control_flow_op(outermost)) is not None:
        outermost = op.graph
    is_function = isinstance(outermost, func_graph.FuncGraph)
    return (
        outermost is not graph and is_function and not outermost.name.startswith("wrapped_function")
    )


def body_and_condition(op: Any) -> tuple[Any, Any] | None:
    """The graphs of a While op.

    Args:
      op: A While or StatelessWhile.

    Returns:
      The body and the condition; None if the op was not built in this process, but loaded.
    """
    body, condition = getattr(op, "_body_graph", None), getattr(op, "_cond_graph", None)
    return None if body is None or condition is None else (body, condition)


def branches(op: Any) -> list[Any]:
    """The graphs of the branches of a conditional.

    Args:
      op: An If, Case, StatelessIf or StatelessCase.

    Returns:
      One graph for each branch, that of `true` first; none if the op was not built in this process,
      but loaded.
    """
    if op.type in ("If", "StatelessIf"):
        names = ["_true_graph", "_false_graph"]
    else:
        names = [f"_branch_graph_{i}" for i in range(len(op.get_attr("branches")))]
    found = [getattr(op, name, None) for name in names]
    return [] if None in found else found


def registered_kernels(op_type: str) -> list[tuple[str, int]]:
    """The kernels that TensorFlow has for an op.

    Args:
      op_type: Name of an op.

    Returns:
      `(device type, priority)` of each kernel.
    """
    found = kernels.get_registered_kernels_for_op(op_type)
    return [(kernel.device_type, kernel.priority) for kernel in found.kernel]


def functions_and_sessions() -> tuple[int, int]:
    """Counts the functions and Sessions of this process, which may hold kernels.

    Does not initialize TensorFlow's eager context, so devices can still be configured afterwards.

    Returns:
      The number of traces of live `tf.function`s, each signature counted, and the number of
      Sessions that were created. The first number includes the functions that TensorFlow makes
      around eager TensorArray and TensorList ops. TensorFlow does not record which of them have
      run.
    """
    eager = context.context_safe()
    names = eager.list_function_names() if eager is not None and eager._initialized else ()
    functions = [name for name in names if _FUNCTION.match(name)]
    sessions: int = session._python_session_create_counter.get_cell().value()
    return len(functions), sessions
