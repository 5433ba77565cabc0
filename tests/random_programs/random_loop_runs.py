"""Runs the random programs of `random_loops` in this process, with or without the library."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import linecache
import os
import re
import unittest.mock
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import control_flow_ops, while_v2

from tests.random_programs.random_loops import UNOPTIMISED, LoopProgram, Ran, random_loop
from tests.support.counting import counting

# Prefix of the counters that show whether loops ran in one kernel. No others are returned.
_COUNTED = "loops."


def run_seed(
    seed: int, settings: Mapping[str, int] | None = None, in_sequence: bool = False
) -> Ran:
    """Runs the program of that number.

    Args:
      seed: The number.
      settings: Functions of the bindings to call first, such as `set_hand_back_after`, with their
        arguments.
      in_sequence: Whether each iteration of a loop begins only after the previous one has ended.

    Returns:
      Its results, or its error.
    """
    if UNOPTIMISED in os.environ:  # the arithmetic optimizer may lose a value
        tf.config.optimizer.set_experimental_options({"arithmetic_optimization": False})
    for name, value in (settings or {}).items():
        from tensor_array_grad import _loader

        getattr(_loader.bind(), name)(value)
    with counting() as counts:
        ran = _run(random_loop(seed), in_sequence)
    ran.counters = {name: count for name, count in counts.items() if name.startswith(_COUNTED)}
    return ran


def run_text(seed: int, text: str) -> Ran:
    """Runs the program of that number, with this text instead of its own."""
    return _run(dataclasses.replace(random_loop(seed), text=text))


def _run(program: LoopProgram, in_sequence: bool = False) -> Ran:
    # Stock draws in an order that is defined only if iterations do not overlap.
    in_sequence = in_sequence or any(feature.startswith("drawn") for feature in program.features)
    with loops_in_sequence() if in_sequence else contextlib.nullcontext():
        return run_program(program)


@contextlib.contextmanager
def loops_in_sequence() -> Iterator[None]:
    """In the context, loops are built with `parallel_iterations=1`, whatever value they pass."""
    with contextlib.ExitStack() as stack:
        for place, name in ((while_v2, "while_loop"), (control_flow_ops, "WhileContext")):
            build = functools.partial(_with_one_iteration, getattr(place, name))
            stack.enter_context(unittest.mock.patch.object(place, name, build))
        yield


def _with_one_iteration(build: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    bound = inspect.signature(build).bind(*args, **kwargs)
    bound.arguments["parallel_iterations"] = 1
    return build(*bound.args, **bound.kwargs)


def has_settings(names: Sequence[str]) -> bool:
    """Whether the library that this child process has loaded has these settings of `run_seed`."""
    from tensor_array_grad import _loader

    return _loader.is_loaded() and all(hasattr(_loader.bind(), name) for name in names)


def run_program(program: LoopProgram) -> Ran:
    """Builds and runs a program. The result contains an error if one was raised."""
    ran = Ran()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = _compiled(program)
            run = _in_session if program.mode.startswith("session") else _in_function
            run(program, module, ran)
        except tf.errors.OpError as error:
            ran.error = (type(error).__name__, first_line(error.message))
        except Exception as error:
            ran.unbuilt = f"{type(error).__name__}: {first_line(str(error))}"
    return ran


_NOISE = re.compile(r"^(Graph execution error:|Detected at node|\s+File \"|<stack traces|$)")
_SOURCE = re.compile(r"^  ( |File)")  # a line of a traceback


def first_line(message: str) -> str:
    """The first line that describes the error, without names of nodes and numbers of functions."""
    for line in message.splitlines():
        if _NOISE.match(line) or _SOURCE.match(line):
            continue
        line = re.sub(r"\{\{[^}]*\}\}|\[Op:[^\]]*\]|__\w+_\d+|(?<=Dataset):\d+", "", line)
        return re.sub(r"\s+", " ", line).strip()
    return ""


def _compiled(program: LoopProgram) -> dict[str, Any]:
    # AutoGraph reads the source from `linecache`.
    file = f"<random loop {program.seed}>"
    linecache.cache[file] = (len(program.text), None, program.text.splitlines(True), file)
    module: dict[str, Any] = {"__name__": f"random_loop_{program.seed}"}
    exec(compile(program.text, file, "exec"), module)
    return module


def _inputs(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, 1])
    return [rng.normal(size=(3, 2)) * scale for scale in (1.0, 0.5)]


def loss_of(outputs: list[Any]) -> Any:
    """The sum of all elements of the floating-point and complex outputs."""
    total = tf.zeros([], tf.float64)
    for output in outputs:
        if output.dtype.is_complex:
            output = tf.math.real(output) + tf.math.imag(output)
        if output.dtype.is_floating:
            total += tf.reduce_sum(tf.cast(output, tf.float64))
    return total


# ---- tf.function


def _in_function(program: LoopProgram, module: dict[str, Any], ran: Ran) -> None:
    v = [tf.Variable(value, dtype=tf.float64) for value in module["VARIABLES"]]
    traced = tf.function(module["program"], autograph=program.style == "autograph")
    compute = _GRADIENTS[program.mode](traced, v)
    for array in _inputs(program.seed):
        outputs, gradients = compute(tf.constant(array))
        ran.values += [_numpy(output) for output in outputs]
        ran.gradients += [_numpy(gradient) for gradient in gradients]
    ran.effects = [variable.numpy() for variable in v]


Traced = Callable[[Any, list[Any]], list[Any]]
Compute = Callable[[Any], tuple[list[Any], list[Any]]]  # x -> results, gradients


def _in_one(compute: Compute) -> Compute:
    return tf.function(compute, autograph=False)


def _no_gradient(traced: Traced, v: list[Any]) -> Compute:
    return lambda x: (traced(x, v), [])


def _in_a_dataset(traced: Traced, v: list[Any]) -> Compute:
    def compute(x: Any) -> tuple[list[Any], list[Any]]:
        data = tf.data.Dataset.from_tensors(x).map(lambda x: tuple(traced(x, v)))
        return list(next(iter(data))), []

    return compute


def _tape(traced: Traced, v: list[Any]) -> Compute:
    def compute(x: Any) -> tuple[list[Any], list[Any]]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs = traced(x, v)
            loss = loss_of(outputs)
        return outputs, tape.gradient(loss, [x, v[0]], unconnected_gradients="zero")

    return compute


def _tape_inside(traced: Traced, v: list[Any]) -> Compute:
    return _in_one(_tape(traced, v))


def _symbolic(traced: Traced, v: list[Any]) -> Compute:
    def compute(x: Any) -> tuple[list[Any], list[Any]]:
        outputs = traced(x, v)
        return outputs, tf.gradients(loss_of(outputs), [x], unconnected_gradients="zero")

    return _in_one(compute)


def _differentiated_again(first_order: Compute, sum_of: Callable[[Any], Any]) -> Compute:
    """The gradient, and the gradient of `sum_of(gradient)`."""

    def compute(x: Any) -> tuple[list[Any], list[Any]]:
        with tf.GradientTape() as outer:
            outer.watch(x)
            outputs, (first, _) = first_order(x)
            total = sum_of(first)
        return outputs, [first, outer.gradient(total, x, unconnected_gradients="zero")]

    return compute


def _second_order(traced: Traced, v: list[Any]) -> Compute:
    """The gradient of the sum of the squares of the gradient."""
    first_order = _tape(traced, v)
    return _in_one(_differentiated_again(first_order, lambda first: tf.reduce_sum(first * first)))


def _hessian_vector(traced: Traced, v: list[Any]) -> Compute:
    """The Hessian times a vector, with the outer tape outside of the function."""
    direction = tf.cos(tf.range(6.0, dtype=tf.float64))
    return _differentiated_again(
        _tape_inside(traced, v), lambda first: tf.reduce_sum(tf.reshape(first, [-1]) * direction)
    )


def _jacobian(traced: Traced, v: list[Any]) -> Compute:
    def compute(x: Any) -> tuple[list[Any], list[Any]]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs = traced(x, v)
            parts = tf.stack([loss_of([output]) for output in outputs[:2]])
        # Without pfor: one gradient for each row, in a loop.
        jacobian = functools.partial(tape.jacobian, unconnected_gradients="zero")
        return outputs, [jacobian(parts, x, experimental_use_pfor=False)]

    return _in_one(compute)


_GRADIENTS: dict[str, Callable[[Traced, list[Any]], Compute]] = {
    "value": _no_gradient,
    "dataset": _in_a_dataset,
    "tape_outside": _tape,
    "tape_inside": _tape_inside,
    "gradients": _symbolic,
    "second_order": _second_order,
    "hessian_vector": _hessian_vector,
    "jacobian": _jacobian,
}


# ---- Session


@contextlib.contextmanager
def _control_flow(v2: bool) -> Iterator[None]:
    enabled = tf.compat.v1.control_flow_v2_enabled()
    switch = {
        True: tf.compat.v1.enable_control_flow_v2,
        False: tf.compat.v1.disable_control_flow_v2,
    }
    switch[v2]()
    try:
        yield
    finally:
        switch[enabled]()


def _in_session(program: LoopProgram, module: dict[str, Any], ran: Ran) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, _control_flow(program.mode == "session_v2"):
        x = v1.placeholder(tf.float64, [3, 2])
        v = [
            v1.get_variable(f"v{k}", initializer=np.float64(value), use_resource=True)
            for k, value in enumerate(module["VARIABLES"])
        ]
        outputs = module["program"](x, v)
        gradients = []
        if program.gradient:
            found = tf.gradients(loss_of(outputs), [x, v[0]], unconnected_gradients="zero")
            gradients = [tf.convert_to_tensor(gradient) for gradient in found]
        config = v1.ConfigProto()
        if UNOPTIMISED in os.environ:
            off = config.graph_options.rewrite_options.OFF
            config.graph_options.rewrite_options.arithmetic_optimization = off
        with v1.Session(graph=graph, config=config) as session:
            session.run([variable.initializer for variable in v])
            for array in _inputs(program.seed):
                got = session.run([outputs, gradients], {x: array})
                ran.values += [_numpy(value) for value in got[0]]
                ran.gradients += [_numpy(value) for value in got[1]]
            ran.effects = [np.asarray(value) for value in session.run(v)]


def _numpy(value: Any) -> np.ndarray:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)
