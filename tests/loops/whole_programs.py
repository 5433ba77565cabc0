"""Programs whose loops once stayed in the executor. The callers decide which kernels run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

Results = list[np.ndarray]
PROGRAMS: dict[str, Callable[[], Results]] = {}


def _program(function: Callable[[], Results]) -> Callable[[], Results]:
    PROGRAMS[function.__name__] = function
    return function


def _with_gradient(function: Callable[[Any], Any], x: Any) -> Results:
    @tf.function
    def both(x: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return [y, tf.convert_to_tensor(tape.gradient(y, x))]

    return [value.numpy() for value in both(x)]


def _normal(*shape: int) -> Any:
    return tf.constant(np.random.default_rng(4).normal(size=shape), tf.float32)


_LENGTHS = [5, 0, 15, 3] * 3


@_program
def map_of_ragged_rows() -> Results:
    def program(x: Any) -> Any:
        rows = tf.RaggedTensor.from_row_lengths(x, _LENGTHS)
        return tf.map_fn(lambda row: tf.reduce_sum(tf.sin(row)), rows, tf.float32)

    return _with_gradient(program, _normal(sum(_LENGTHS)))


@_program
def loop_over_ragged_rows() -> Results:
    def program(x: Any) -> Any:
        rows = tf.RaggedTensor.from_row_lengths(x, _LENGTHS)
        total = tf.constant(0.0)
        for i in tf.range(rows.nrows()):
            total = total * 0.9 + tf.reduce_sum(rows[i])
        return total

    return _with_gradient(program, _normal(sum(_LENGTHS)))


@_program
def loop_behind_assertions() -> Results:
    def program(x: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_greater(tf.shape(x)[0], 1)]):
            x = tf.identity(x)
        x = tf.debugging.check_numerics(tf.ensure_shape(x, [None, 3]), "not finite")
        return tf.scan(lambda a, b: tf.tanh(a + b), x)

    return _with_gradient(program, _normal(9, 3))


@_program
def layer_on_two_devices() -> Results:
    import keras

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    keras.utils.set_random_seed(7)
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = keras.Sequential([keras.layers.LSTM(4), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
    x, y = _normal(8, 12, 3), _normal(8, 1)
    model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    return [*model.get_weights(), model.predict(x, verbose=0)]


def run(name: str) -> tuple[Results, dict[str, int], int]:
    """The results, how many loops were left by reason, and how many ran in one kernel."""
    results = PROGRAMS[name]()
    if "tensor_array_grad" not in sys.modules:
        return results, {}, 0
    status = sys.modules["tensor_array_grad"].status()
    return results, dict(status.loops_left), status.counters["loops.rewritten"]
