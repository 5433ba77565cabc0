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
from tensorflow.python.framework import func_graph, ops
from tensorflow.python.ops.parallel_for import pfor

GradientFunction = Callable[..., Any]

# Matches the name of a trace of a `tf.function`, but not of its backward function, and the name of
# the function that TensorFlow makes around an eager TensorArray or TensorList op.
_FUNCTION = re.compile(r"__inference_(?!__backward_)|__wrapped__\w*Tensor(Array|List)")


def gradient_function(op_type: str) -> GradientFunction | None:
    """The gradient function of an op; None if the op is registered as not differentiable.

    Raises:
      LookupError: TensorFlow's registry has no entry for `op_type`.
    """
    found: GradientFunction | None = ops.gradient_registry.lookup(op_type)
    return found


def replace_gradient(op_type: str, function: GradientFunction) -> None:
    """Makes `function` the gradient function of an op, in place of any other.

    `tf.RegisterGradient` refuses a second registration, so this removes the first one.
    """
    ops.gradient_registry._registry.pop(op_type, None)
    ops.gradient_registry.register(function, op_type)


def wrap_vectorization(op_type: str, wrapper: Callable[..., Any]) -> None:
    """Wraps the function by which pfor runs an op for all iterations at once.

    Args:
      op_type: Name of an op that pfor has a function for.
      wrapper: Takes that function and pfor's description of the inputs, whose `input(i)` has
        `is_stacked`. Returns a tuple whose `t` is the tensor, as the function does.
    """
    converters = pfor._pfor_converter_registry
    converters[op_type] = functools.partial(wrapper, converters[op_type])


def control_flow_op(graph: Any) -> Any:
    """The While, If or Case op that runs `graph`, if TensorFlow has begun to build its gradient."""
    return getattr(graph, "_while", None) or getattr(graph, "_forward_cond", None)


def is_within_loop_or_branch_of_function(graph: Any) -> bool:
    """Whether `graph` is the body of a loop or a branch in the graph of a `tf.function`.

    Graphs of Sessions and of `tf.compat.v1.wrap_function` do not count: any tensor of them can be
    fed. (The `prune` of a wrapped function makes functions.)
    """
    outermost = graph
    while (op := control_flow_op(outermost)) is not None:
        outermost = op.graph
    is_function = isinstance(outermost, func_graph.FuncGraph)
    return (
        outermost is not graph and is_function and not outermost.name.startswith("wrapped_function")
    )


def body_and_condition(op: Any) -> tuple[Any, Any] | None:
    """The graphs of a While op; None if the op was loaded, not built in this process."""
    body, condition = getattr(op, "_body_graph", None), getattr(op, "_cond_graph", None)
    return None if body is None or condition is None else (body, condition)


def branches(op: Any) -> list[Any]:
    """The graphs of an If or a Case, that of `true` first; [] if the op was loaded, not built."""
    if op.type in ("If", "StatelessIf"):
        names = ["_true_graph", "_false_graph"]
    else:
        names = [f"_branch_graph_{i}" for i in range(len(op.get_attr("branches")))]
    found = [getattr(op, name, None) for name in names]
    return [] if None in found else found


def functions_and_sessions() -> tuple[int, int]:
    """How many live traces of `tf.function`s, and how many Sessions, may hold kernels.

    The functions that TensorFlow makes around eager TensorArray and TensorList ops are counted too.
    TensorFlow does not record which of them have run. Its eager context is not initialized, so that
    devices can still be configured.
    """
    eager = context.context_safe()
    names = eager.list_function_names() if eager is not None and eager._initialized else ()
    functions = [name for name in names if _FUNCTION.match(name)]
    sessions: int = session._python_session_create_counter.get_cell().value()
    return len(functions), sessions
