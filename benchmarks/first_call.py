"""First calls: `python -m benchmarks.first_call [--quick] [case ...]`.

The first call of a function traces it, optimises its graph, runs the graph passes, makes the
kernels, and runs once. Loops have few iterations here, so that this takes most of the time. The
figures are processor times of all threads of a new process that has loaded the library and built
the case. The reference is the result of stock; the harness compares the values.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from benchmarks import harness
from benchmarks.case import Case, Prepared, of_call, timed
from benchmarks.programs import example
from benchmarks.traced import LoopVars, gradient_of, loop, rows, values

ASKED = 0.91  # a first call may take a tenth more processor time than stock's
_UNITS, _BATCH, _WIDTH = 16, 4, 8
_LOOPS = 20  # in the graph of `many_loops`


def untraced(function: Callable[..., tf.Tensor], *arguments: tf.Tensor) -> Prepared:
    """A case whose first call traces `function`."""
    traced = tf.function(function, autograph=False)
    return of_call(lambda: traced(*arguments).numpy())


def _cell(weights: tf.Tensor, state: LoopVars, row: tf.Tensor) -> LoopVars:
    """A step of an LSTM: the new (h, c)."""
    h, c = state
    joined = tf.concat([h, row], -1)[tf.newaxis]
    i, f, g, o = tf.split(tf.squeeze(joined @ weights, 0), 4)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def _scan_lstm(n: int) -> Prepared:
    weights = tf.constant(values(_UNITS + _WIDTH, 4 * _UNITS) * 0.1)
    start = (tf.zeros([_UNITS]), tf.zeros([_UNITS]))

    def loss(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.scan(lambda s, row: _cell(weights, s, row), x, start)[0])

    return untraced(gradient_of(loss), rows(n, _WIDTH))


def trained(
    keras: ModuleType,
    layers: Callable[[Any], Sequence[Any]],
    x: npt.NDArray[np.float32],
    y: npt.NDArray[np.float32],
) -> Prepared:
    """Training by `train_on_batch`; the first call traces and optimises the graph of a step.

    Args:
      keras: The module of Keras.
      layers: Makes the layers from its module of layers.
      x: The batch.
      y: What the model shall compute of it.

    Returns:
      The case. Its result is the loss of the first batch and the weights after it.
    """
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input(x.shape[1:]), *layers(keras.layers)])
    model.compile("sgd", "mse")

    def first() -> npt.ArrayLike:
        loss = np.ravel(model.train_on_batch(x, y))
        return np.concatenate([loss, *map(np.ravel, model.get_weights())])

    return Prepared(run=timed(lambda: model.train_on_batch(x, y)), result=first)


def _trained(keras: ModuleType, recurrent: Callable[[Any], Any], n: int) -> Prepared:
    x = values(_BATCH * n, _WIDTH).reshape(_BATCH, n, _WIDTH)
    return trained(keras, lambda layers: [recurrent(layers), layers.Dense(1)], x, values(_BATCH, 1))


def _stacked(layers: Any) -> Any:
    return layers.RNN(layers.StackedRNNCells([layers.LSTMCell(_UNITS) for _ in range(3)]))


def _keras(recurrent: Callable[[Any], Any]) -> Callable[[int], Prepared]:
    return lambda n: _trained(tf.keras, recurrent, n)


def _tf_keras_lstm(n: int) -> Prepared:
    return _trained(importlib.import_module("tf_keras"), lambda x: x.LSTM(_UNITS), n)


def _samplers(n: int) -> Prepared:
    # TensorFlow does not inline TFP's samplers, because they implement an interface.
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    distributions = importlib.import_module("tensorflow_probability").distributions

    def step(i: tf.Tensor, h: tf.Tensor) -> LoopVars:
        seed = tf.stack([i, 7])
        rate = distributions.Gamma(2.0 + h, 3.0).sample(seed=seed)
        return (distributions.Poisson(rate + 1.0).sample(seed=seed) * 0.1,)

    return untraced(lambda h: loop(n, step, h)[0], tf.ones([_WIDTH]))


def _third_derivative(n: int) -> Prepared:
    def step(i: tf.Tensor, h: tf.Tensor) -> LoopVars:
        return (tf.sin(h) * 0.9 + h * h * 0.1,)

    def sum_of(function: Callable[[tf.Tensor], tf.Tensor]) -> Callable[[tf.Tensor], tf.Tensor]:
        return lambda x: tf.reduce_sum(function(x))

    derivative: Callable[[tf.Tensor], tf.Tensor] = lambda x: loop(n, step, x)[0]  # noqa: E731
    for _ in range(3):
        derivative = gradient_of(sum_of(derivative))
    return untraced(derivative, rows(1, _WIDTH)[0])


def _tf1_cond(n: int) -> Prepared:
    """The gradient of a conditional in a loop, in a Session, with the control flow of TF1."""
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()

    def step(i: tf.Tensor, h: tf.Tensor) -> LoopVars:
        return (v1.cond(tf.equal(i % 2, 0), lambda: tf.tanh(h), lambda: h * 0.9 + 0.1),)

    def run() -> npt.ArrayLike:
        with tf.Graph().as_default(), v1.Session() as session:
            x = tf.constant(values(1, _WIDTH))
            found: npt.ArrayLike = session.run(tf.gradients(loop(n, step, x)[0], x))
            return found

    return of_call(run)


def _nested(n: int) -> Prepared:
    """The gradient of three loops, one inside the other."""

    def around(inner: Callable[..., LoopVars]) -> Callable[..., LoopVars]:
        return lambda i, h: loop(3, inner, h * 0.9)

    def innermost(i: tf.Tensor, h: tf.Tensor) -> LoopVars:
        return (tf.tanh(h + tf.cast(i, h.dtype) * 0.1),)

    step = around(around(innermost))
    return untraced(gradient_of(lambda x: tf.reduce_sum(loop(n, step, x)[0])), rows(2, _WIDTH))


def _dataset(n: int) -> Prepared:
    def last(row: tf.Tensor) -> tf.Tensor:
        return loop(n, lambda _, h: (tf.tanh(h * 0.5 + row),), tf.zeros_like(row))[0]

    def run() -> npt.ArrayLike:
        data = tf.data.Dataset.from_tensor_slices(values(_BATCH, _WIDTH)).map(last)
        return np.stack(list(data.batch(2).as_numpy_iterator()))

    return of_call(run)


def _many_loops(n: int) -> Prepared:
    def loss(x: tf.Tensor) -> tf.Tensor:
        for _ in range(_LOOPS):
            (x,) = loop(n, lambda _, h: (h + tf.tanh(h) * 0.01,), x)
        return tf.reduce_sum(x)

    return untraced(gradient_of(loss), rows(2, _WIDTH))


def _case(
    name: str, what: str, build: Callable[[int], Prepared], sizes: Sequence[int] = (20,)
) -> Case:
    return Case(name, what, tuple(sizes), build, ASKED, first_call=True)


CASES = (
    _case("scan_lstm", "an LSTM cell in tf.scan, gradient", _scan_lstm),
    _case("keras_lstm", "Keras LSTM, train_on_batch", _keras(lambda x: x.LSTM(_UNITS))),
    _case("keras_stacked", "Keras StackedRNNCells, train_on_batch", _keras(_stacked)),
    _case("tf_keras_lstm", "tf-keras LSTM, train_on_batch", _tf_keras_lstm),
    _case("nuts", "TFP NUTS", example("nuts")),
    _case("hidden_markov", "TFP HiddenMarkovModel, a training step", example("hidden_markov")),
    _case("samplers", "TFP Gamma and Poisson in a loop", _samplers),
    _case("third_derivative", "a third derivative of a loop", _third_derivative),
    _case("tf1_cond", "TF1 graph, tf.cond in a loop, gradient", _tf1_cond),
    _case("nested", "three loops, one inside the other, gradient", _nested),
    _case("dataset", "a loop in Dataset.map", _dataset),
    _case("many_loops", f"{_LOOPS} loops in a graph, gradient", _many_loops),
)


if __name__ == "__main__":
    sys.exit(harness.main("benchmarks.first_call", CASES))
