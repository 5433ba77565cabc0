"""Compiles what a program traces with XLA, for `python -m tensor_array_grad compare --jit`.

Each `tf.function` that leaves `jit_compile` open is compiled, and so is the train step of a Keras
model whose `compile()` leaves it open. A `tf.function` that Keras or TensorFlow Probability makes
is left alone: they have arguments of their own for this.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

SWITCH = "TENSOR_ARRAY_GRAD_COMPILE"  # the environment variable
# The modules that define a model's `compile`, and the class that has it.
_KERAS = {"keras.src.trainers.trainer": "Trainer", "tf_keras.src.engine.training": "Model"}
# The modules that have `tf.function`. Importing the last two replaces the attributes of tf.compat.
_APIS = ("tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2")
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

        compiling = _compiling(tf.function, _LEFT_ALONE)
        for api in _APIS:
            importlib.import_module(api).function = compiling  # type: ignore[attr-defined]
        for module, name in _KERAS.items():
            wrapt.register_post_import_hook(functools.partial(_replace_compile, name), module)


def _replace_compile(name: str, module: Any) -> None:
    """Replaces `compile` of the class `name` in `module`.

    Keras asks whether a model's class overrides `compile` by comparing the two attributes. The new
    one is therefore a plain function, which is equal to itself whenever it is read from a class.
    """
    owner = getattr(module, name)
    owner.compile = _compiling(owner.compile)


def _compiling(function: Callable[..., Any], left_alone: Sequence[str] = ()) -> Callable[..., Any]:
    """`function` with `jit_compile=True` where a caller not of `left_alone` gives no value."""
    signature = inspect.signature(function)
    defaults = {n: p.default for n, p in signature.parameters.items() if n in _NAMES}

    @functools.wraps(function)
    def compiled(*args: Any, **options: Any) -> Any:
        global _options_added
        caller = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        try:
            given = signature.bind_partial(*args, **options)
        except TypeError:  # the function itself says what is wrong
            return function(*args, **options)
        # A saved model that left the option open has the default among its arguments.
        is_open = all(given.arguments.get(n, default) == default for n, default in defaults.items())
        if is_open and not given.arguments.get("run_eagerly") and caller not in left_alone:
            _options_added += 1
            given.arguments["jit_compile"] = True
        return function(*given.args, **given.kwargs)

    return compiled
