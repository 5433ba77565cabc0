"""The ways in which a test program is run: TF1 Session, tf.function and eager.

In a Session `tf.TensorArray` is built on the V3 ops, as in TF1 graphs; in a `tf.function` it is a
TensorList. In eager mode it is a Python list, so eager tests of this library's kernels call raw
ops.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

NAMES = ("session", "function", "eager")


@contextlib.contextmanager
def tf1_control_flow() -> Iterator[None]:
    """Inside the context, TensorArray and while_loop are built with control flow v1."""
    enabled = tf.compat.v1.control_flow_v2_enabled()
    tf.compat.v1.disable_control_flow_v2()
    try:
        yield
    finally:
        if enabled:
            tf.compat.v1.enable_control_flow_v2()


class Mode:
    """Runs functions of tensors on NumPy arrays, in one mode and on one device."""

    def __init__(self, name: str, device: str = "/CPU:0") -> None:
        assert name in NAMES, name
        self.name = name
        self.device = device

    def __repr__(self) -> str:
        return f"Mode({self.name!r}, {self.device!r})"

    def __call__(self, program: Callable[..., Any]) -> Callable[..., Any]:
        """Returns `program`, a function of tensors, as a function from arrays to arrays."""

        def run(*arrays: Any) -> Any:
            values = [np.asarray(array) for array in arrays]
            if self.name == "session":
                return self._in_session(program, values)
            return tf.nest.map_structure(_numpy, self._call(program, values))

        return run

    def gradient(self, program: Callable[..., Any]) -> Callable[..., list[np.ndarray]]:
        """Returns a function that computes the gradient of the sum of all results of `program`.

        It returns one gradient per argument.
        """

        def differentiate(*tensors: Any) -> list[Any]:
            if tf.executing_eagerly():
                with tf.GradientTape() as tape:
                    tape.watch(tensors)
                    results = program(*tensors)
                return tape.gradient(results, list(tensors), unconnected_gradients="zero")
            results = tf.nest.flatten(program(*tensors))
            return tf.gradients(results, list(tensors), unconnected_gradients="zero")

        return self(lambda *tensors: [tf.convert_to_tensor(g) for g in differentiate(*tensors)])

    def _call(self, program: Callable[..., Any], values: list[np.ndarray]) -> Any:
        def placed(*tensors: Any) -> Any:
            with tf.device(self.device):
                return program(*tensors)

        tensors = [tf.constant(value) for value in values]
        if self.name == "function":
            return tf.function(placed, autograph=False)(*tensors)
        return placed(*tensors)

    def _in_session(self, program: Callable[..., Any], values: list[np.ndarray]) -> Any:
        with tf.Graph().as_default(), tf1_control_flow(), tf.device(self.device):
            inputs = [tf.compat.v1.placeholder(value.dtype, value.shape) for value in values]
            results = program(*inputs)
            # As in the other modes, an op without a kernel for the device runs on another one.
            config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
            with tf.compat.v1.Session(config=config) as session:
                return session.run(results, dict(zip(inputs, values, strict=True)))


def assert_gradients_are_numeric(
    mode: Mode,
    program: Callable[..., Any],
    *arrays: Any,
    atol: float = 1e-6,
    step: float = 1e-4,
) -> list[np.ndarray]:
    """Compares the gradient for every input with central differences, in float64.

    The results are weighted with fixed random numbers, so that a gradient at the wrong element is
    an error. Returns the gradients.
    """
    values = [np.asarray(array, dtype=np.float64) for array in arrays]

    def loss(*tensors: Any) -> Any:
        rng = np.random.default_rng(0)
        total = tf.zeros([], tf.float64)
        for result in tf.nest.flatten(program(*tensors)):
            noise = rng.normal(size=4096)
            flat = tf.reshape(result, [-1])
            total += tf.reduce_sum(flat * tf.constant(noise)[: tf.size(flat)])
        return total

    exact = mode.gradient(loss)(*values)
    evaluate = mode(lambda *batches: _each(loss, batches))
    for which, value in enumerate(values):
        moved = _moved(values, which, step)
        losses = np.reshape(evaluate(*moved), [-1, 2]) if value.size else np.zeros([0, 2])
        numeric = ((losses[:, 0] - losses[:, 1]) / (2 * step)).reshape(value.shape)
        np.testing.assert_allclose(
            exact[which], numeric, atol=atol, rtol=1e-5, err_msg=f"input {which}, {mode}"
        )
    return exact


def _each(loss: Callable[..., Any], batches: tuple[Any, ...]) -> Any:
    """The loss for each row of the batches, in one graph: a Session per row would take minutes."""
    rows = batches[0].shape[0]
    return tf.stack([loss(*(batch[row] for batch in batches)) for row in range(rows)])


def _moved(values: list[np.ndarray], which: int, step: float) -> list[np.ndarray]:
    """Returns each input as a batch with two rows per element of `values[which]`.

    Rows 2k and 2k + 1 of the batch of `values[which]` have element k moved up and down by `step`.
    All other values are those of the inputs.
    """
    size = values[which].size
    batches = [np.repeat(value[np.newaxis], 2 * size, axis=0) for value in values]
    flat = batches[which].reshape(2 * size, size) if size else batches[which]
    for element in range(size):
        flat[2 * element, element] += step
        flat[2 * element + 1, element] -= step
    return batches


def _numpy(result: Any) -> Any:
    return result.numpy() if hasattr(result, "numpy") else result
