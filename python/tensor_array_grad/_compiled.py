"""Compiles what a program traces with XLA, for `python -m tensor_array_grad compare --jit`.

Each `tf.function` that leaves `jit_compile` open is compiled, and so is the train step of a Keras
model whose `compile()` leaves it open. A `tf.function` that Keras makes is left alone, because
Keras asks for compilation itself where it can.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

SWITCH = "TENSOR_ARRAY_GRAD_COMPILE"  # the environment variable
# The modules that define a model's `compile`, and the class that has it.
_KERAS = {"keras.src.trainers.trainer": "Trainer", "tf_keras.src.engine.training": "Model"}
_POSITION = 3  # of jit_compile among the parameters of tf.function


def follow_environment() -> None:
    """Compiles from now on, if the environment says so."""
    if os.environ.get(SWITCH):
        import tensorflow as tf
        import wrapt

        tf.function = _compiling_function(tf.function)
        for module, name in _KERAS.items():
            wrapt.register_post_import_hook(functools.partial(_replace_compile, name), module)


def _compiling_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """`tf.function`, but with `jit_compile=True` where the caller gives no value."""

    @functools.wraps(function)
    def compiled(*args: Any, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        is_open = len(args) <= _POSITION and options.get("jit_compile") is None
        if is_open and caller.partition(".")[0] not in ("keras", "tf_keras"):
            options["jit_compile"] = True
        return function(*args, **options)

    return compiled


def _replace_compile(name: str, module: Any) -> None:
    """Gives `compile` of the class `name` in `module` the default `jit_compile=True`."""
    owner = getattr(module, name)
    owner.compile = functools.partialmethod(owner.compile, jit_compile=True)
