"""All private names of TensorFlow that this package uses.

For each name there is a test, mostly in tests/package/drop_in_test.py, that fails if a release of
TensorFlow moves it.
"""

from __future__ import annotations

import functools
import gc
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tensorflow.python import pywrap_tfe
from tensorflow.python.client import session
from tensorflow.python.eager import context
from tensorflow.python.framework import errors, func_graph, ops
from tensorflow.python.ops.parallel_for import pfor
from tensorflow.python.util import _pywrap_util_port

GradientFunction = Callable[..., Any]

# Matches the name of a trace of a `tf.function`, but not of its backward function, and the name of
# the function that TensorFlow makes around an eager TensorArray or TensorList op.
_FUNCTION = re.compile(r"__inference_(?!__backward_)|__wrapped__\w*Tensor(Array|List)")


def look_for_devices() -> list[str]:
    """Lets TensorFlow look for devices, which starts CUDA, and returns their names.

    `tf.config.list_physical_devices` also remembers the answer, so that TensorFlow would not see a
    device of a library that is loaded later.
    """
    return [name.decode() for name in pywrap_tfe.TF_ListPhysicalDevices()]


def gradient_function(op_type: str) -> GradientFunction:
    """The gradient function that TensorFlow's registry holds for an op that is differentiable."""
    found: GradientFunction = ops.gradient_registry.lookup(op_type)
    return found


def replace_gradient(op_type: str, function: GradientFunction) -> None:
    """Makes `function` the gradient of every op of type `op_type`.

    `tf.RegisterGradient` refuses a second registration, so this removes the first one.
    """
    ops.gradient_registry._registry.pop(op_type, None)
    ops.gradient_registry.register(function, op_type)


def wrap_vectorization(op_type: str, wrapper: Callable[..., Any]) -> None:
    """Wraps the function by which pfor runs an op for all iterations at once.

    `wrapper` takes that function and pfor's description of the inputs, whose `input(i)` has
    `is_stacked`. It returns what the function returns: a tuple whose `t` is the tensor. Raises
    LookupError if pfor has no function for the op.
    """
    converters = pfor._pfor_converter_registry
    converters[op_type] = functools.partial(wrapper, converters[op_type])


def control_flow_op(graph: Any) -> Any:
    """The While, If or Case op that runs `graph`.

    None if there is none, or if TensorFlow has not begun to build the op's gradient.
    """
    return getattr(graph, "_while", None) or getattr(graph, "_forward_cond", None)


def is_within_loop_or_branch_of_function(graph: Any) -> bool:
    """Whether `graph` is the body of a loop or a branch in the graph of a `tf.function`.

    False for `tf.compat.v1.wrap_function` too, because its `prune` can feed any tensor.
    """
    outermost = graph
    while (op := control_flow_op(outermost)) is not None:
        outermost = op.graph
    is_function = isinstance(outermost, func_graph.FuncGraph)
    return (
        outermost is not graph and is_function and not outermost.name.startswith("wrapped_function")
    )


def body_and_condition(op: Any) -> tuple[Any, Any] | None:
    """The graphs of a While op; None if the op was not built in this process, but loaded."""
    body, condition = getattr(op, "_body_graph", None), getattr(op, "_cond_graph", None)
    return None if body is None or condition is None else (body, condition)


def branches(op: Any) -> list[Any]:
    """The graphs of an If or Case, that of `true` first; [] if the op was loaded, not built."""
    if op.type in ("If", "StatelessIf"):
        names = ["_true_graph", "_false_graph"]
    else:
        names = [f"_branch_graph_{i}" for i in range(len(op.get_attr("branches")))]
    found = [getattr(op, name, None) for name in names]
    return [] if None in found else found


def is_onednn_enabled() -> bool:
    """Whether TensorFlow uses oneDNN in this process.

    The variable TF_ENABLE_ONEDNN_OPTS decides. Without it, that depends on the processor.
    """
    return bool(_pywrap_util_port.IsMklEnabled())


def functions_and_sessions() -> tuple[int, int]:
    """Counts what may hold kernels: traces of live `tf.function`s, and Sessions that were created.

    The functions that TensorFlow makes around eager TensorArray and TensorList ops count as traces.
    TensorFlow does not record which of them have run. Does not initialize TensorFlow's eager
    context, so devices can still be configured afterwards.
    """
    eager = context.context_safe()
    names = eager.list_function_names() if eager is not None and eager._initialized else ()
    functions = [name for name in names if _FUNCTION.match(name)]
    sessions: int = session._python_session_create_counter.get_cell().value()
    return len(functions), sessions


class Line(NamedTuple):
    """One frame of the traceback of an op."""

    file: str
    line: int
    function: str


def _traces(function: str) -> Mapping[str, tuple[Line, ...]]:
    """The traceback of each op of `function`, by the op's name; empty if TensorFlow has none."""
    find = getattr(context.context_safe(), "get_graph_debug_info", None)
    try:
        return {} if find is None else _traces_in(find, function)
    except errors.NotFoundError:
        return {}


@functools.lru_cache(maxsize=64)  # of functions that exist: a gradient makes others later
def _traces_in(find: Callable[[str], Any], function: str) -> Mapping[str, tuple[Line, ...]]:
    info = find(function)
    lines = {
        key: Line(info.files[frame.file_index], frame.line, frame.func)
        for key, frame in info.frames_by_id.items()
    }
    return {
        op: tuple(lines[key] for key in info.traces_by_id[trace].frame_id)
        for op, trace in info.name_to_trace_id.items()
    }


def traces(function: str) -> set[tuple[Line, ...]]:
    """The different tracebacks of the ops of a function; empty if TensorFlow has none."""
    return set(_traces(function).values())


def traceback(function: str, op: str) -> tuple[Line, ...]:
    """Where the user's program made an op: its frames outside of TensorFlow, the outermost first.

    Args:
      function: The name of the function whose graph has the op; "" for the graph of a Session.
      op: The name of the op.

    Returns:
      The frames. Empty if TensorFlow does not know the op any more, or has loaded it from a file,
      or if several graphs have an op of that name and it is not known which one is meant.
    """
    if function:
        return _traces(function).get(op, ())
    found = {
        tuple(
            Line(frame.filename, frame.lineno, frame.name)
            for frame in graph._nodes_by_name[op].traceback or ()  # none if it was imported
        )
        for graph in _graphs()
        if op in graph._nodes_by_name
    }
    return found.pop() if len(found) == 1 else ()


def _graphs() -> list[ops.Graph]:
    """The graph of the Session that runs on this thread; if there is none, all graphs."""
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
        if frame.f_code is session.BaseSession._run.__code__:
            return [frame.f_locals["self"].graph]
    return [each for each in gc.get_objects() if type(each) is ops.Graph]


def call_before_first_op(call: Callable[[], None]) -> None:
    """Calls `call` once, before TensorFlow runs its first op eagerly or makes the first Session."""
    waits = [(context.Context, "ensure_initialized"), (session.BaseSession, "__init__")]
    originals = [getattr(owner, name) for owner, name in waits]

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def first(*args: Any, **kwargs: Any) -> Any:
            for (owner, name), value in zip(waits, originals, strict=True):
                setattr(owner, name, value)
            call()
            return original(*args, **kwargs)

        return first

    for (owner, name), original in zip(waits, originals, strict=True):
        setattr(owner, name, wrapped(original))
