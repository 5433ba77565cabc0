"""Compiles what a program traces with XLA, for `python -m tensor_array_grad compare --jit`.

Each `tf.function` that leaves `jit_compile` open is compiled, and so is the train step of a Keras
model whose `compile()` leaves it open. A `tf.function` that Keras or TensorFlow Probability makes
is left alone: they have arguments of their own for this.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

SWITCH = "TENSOR_ARRAY_GRAD_COMPILE"  # the environment variable
# The modules that define a model's `compile`, and the class that has it.
_KERAS = {"keras.src.trainers.trainer": "Trainer", "tf_keras.src.engine.training": "Model"}
# The other modules that have `tf.function`. `import tensorflow.compat.v2` makes a second module
# beside the attribute `tf.compat.v2`, and puts it in its place.
_COMPATIBLE = ("tensorflow.compat.v1", "tensorflow.compat.v2")
_LEFT_ALONE = ("keras", "tf_keras", "tensorflow_probability")
_NAMES = ("jit_compile", "experimental_compile")  # the option of tf.function, and its old name
_options_added = 0


def options_added() -> int:
    """How many functions and Keras models in this process got `jit_compile=True` from here."""
    return _options_added


def follow_environment() -> None:
    """Compiles from now on, if the environment says so."""
    if os.environ.get(SWITCH):
        import tensorflow as tf
        import wrapt

        compiling = _compiling_function(tf.function)
        for api in (tf, tf.compat.v1, tf.compat.v2):
            api.function = compiling
        for module in _COMPATIBLE:
            wrapt.register_post_import_hook(functools.partial(_replace, compiling), module)
        for module, name in _KERAS.items():
            wrapt.register_post_import_hook(functools.partial(_replace_compile, name), module)


def _replace(function: Callable[..., Any], api: Any) -> None:
    sys.modules[api.__name__].function = function  # type: ignore[attr-defined]


def _compiling_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """`tf.function`, but with `jit_compile=True` where the caller gives no value."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def compiled(*args: Any, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        given = _bound(signature, args, options)
        if (
            given is None
            or any(given.arguments.get(name) is not None for name in _NAMES)
            or caller.partition(".")[0] in _LEFT_ALONE
        ):
            return function(*args, **options)
        return _call_compiled(function, given)

    return compiled


def _replace_compile(name: str, module: Any) -> None:
    """Gives `compile` of the class `name` in `module` the default `jit_compile=True`.

    Keras asks whether a model's class overrides `compile` by comparing the two attributes. The new
    one is therefore a plain function, which is equal to itself whenever it is read from a class.
    """
    owner = getattr(module, name)
    compile_model = owner.compile
    signature = inspect.signature(compile_model)
    default = signature.parameters["jit_compile"].default

    @functools.wraps(compile_model)
    def compiled(*args: Any, **options: Any) -> Any:
        given = _bound(signature, args, options)
        # A saved model that left the option open has the default among its arguments.
        if (
            given is None
            or given.arguments.get("jit_compile", default) != default
            or given.arguments.get("run_eagerly")
        ):
            return compile_model(*args, **options)
        return _call_compiled(compile_model, given)

    owner.compile = compiled


def _bound(
    signature: inspect.Signature, args: tuple[Any, ...], options: dict[str, Any]
) -> inspect.BoundArguments | None:
    """The arguments by name; None if they are wrong, so that the function itself raises."""
    try:
        return signature.bind_partial(*args, **options)
    except TypeError:
        return None


def _call_compiled(function: Callable[..., Any], given: inspect.BoundArguments) -> Any:
    """Calls `function` with the arguments `given` and with `jit_compile=True`."""
    global _options_added
    _options_added += 1
    given.arguments["jit_compile"] = True
    return function(*given.args, **given.kwargs)
