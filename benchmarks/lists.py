"""tf.TensorArray in tf.function: `python -m benchmarks.lists [--quick] [case ...]`.

Each case is a function of n steps and its gradient, timed as one call of the traced function. The
reference is the result of stock; the harness compares the gradients.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import tensorflow as tf

from benchmarks import harness
from benchmarks.case import Case, Prepared
from benchmarks.traced import (
    WIDTH,
    LoopVars,
    Loss,
    gradient_of,
    keras_layer,
    loop,
    of_loss,
    prepared,
    rows,
)

_STEPS = (1_600, 3_200, 6_400, 12_800, 25_600)
_LAYER_STEPS = (400, *_STEPS)  # usual lengths too
_BRANCH = 40  # steps of the inner loop of `nested`


def _unstacked(x: tf.Tensor) -> tf.TensorArray:
    n, *shape = x.shape
    return tf.TensorArray(tf.float32, n, element_shape=shape, clear_after_read=False).unstack(x)


def _empty(n: int, width: int = WIDTH, dynamic: bool = False) -> tf.TensorArray:
    size = 0 if dynamic else n
    return tf.TensorArray(
        tf.float32, size, dynamic_size=dynamic, element_shape=[width], clear_after_read=False
    )


def _read(x: tf.Tensor) -> tf.Tensor:
    inputs = _unstacked(x)
    (h,) = loop(x.shape[0], lambda i, h: (h * 0.5 + inputs.read(i),), tf.zeros_like(x[0]))
    return tf.reduce_sum(h * h)


def _squares(held: tf.TensorArray) -> tf.Tensor:
    return tf.reduce_sum(tf.square(held.stack()))


def _write(x: tf.Tensor) -> tf.Tensor:
    row = tf.reduce_mean(x, 0)

    def step(i: tf.Tensor, h: tf.Tensor, held: tf.TensorArray) -> LoopVars:
        h = h * 0.5 + row
        return h, held.write(i, h)

    return _squares(loop(x.shape[0], step, tf.zeros_like(row), _empty(x.shape[0]))[-1])


def _dynamic(x: tf.Tensor) -> tf.Tensor:
    row = tf.reduce_mean(x, 0)

    def step(i: tf.Tensor, held: tf.TensorArray) -> LoopVars:
        return (held.write(i, row * tf.cast(i, tf.float32)),)

    return _squares(loop(x.shape[0], step, _empty(0, dynamic=True))[0]) / float(x.shape[0]) ** 3


def _read_write(x: tf.Tensor) -> tf.Tensor:
    inputs, n = _unstacked(x), x.shape[0]
    width = x.shape[1]

    def step(i: tf.Tensor, held: tf.TensorArray) -> LoopVars:
        return (held.write(i, inputs.read(i) * 2.0),)

    return _squares(loop(n, step, _empty(n, width))[0])


def _recurrence(x: tf.Tensor) -> tf.Tensor:
    n = x.shape[0]
    first = _empty(n).write(0, x[0]).write(1, x[1])

    def step(i: tf.Tensor, held: tf.TensorArray) -> LoopVars:
        return (held.write(i + 2, 0.5 * held.read(i) + 0.3 * held.read(i + 1)),)

    return _squares(loop(n - 2, step, first)[0])


def _nested(x: tf.Tensor) -> tf.Tensor:
    inputs = _unstacked(x)

    def outer(i: tf.Tensor, h: tf.Tensor) -> LoopVars:
        def inner(j: tf.Tensor, h: tf.Tensor) -> LoopVars:
            return (h * 0.5 + inputs.read(i * _BRANCH + j),)

        return loop(_BRANCH, inner, h)

    return tf.reduce_sum(tf.square(loop(x.shape[0] // _BRANCH, outer, tf.zeros_like(x[0]))[0]))


def _gather_scatter(x: tf.Tensor) -> tf.Tensor:
    inputs, half = _unstacked(x), x.shape[0] // 2

    def step(i: tf.Tensor, held: tf.TensorArray) -> LoopVars:
        rows = inputs.gather(tf.stack([i, i + half]))
        return (held.scatter(tf.stack([2 * i, 2 * i + 1]), rows * 2.0),)

    return _squares(loop(half, step, _empty(2 * half))[0])


def _cond_read(x: tf.Tensor) -> tf.Tensor:
    inputs = _unstacked(x)

    def step(i: tf.Tensor, h: tf.Tensor) -> LoopVars:
        read = tf.cond(i % 2 == 0, lambda: inputs.read(i), lambda: tf.zeros_like(h))
        return (h * 0.5 + read,)

    return tf.reduce_sum(tf.square(loop(x.shape[0], step, tf.zeros_like(x[0]))[0]))


def _cond_write(x: tf.Tensor) -> tf.Tensor:
    row, n = tf.reduce_mean(x, 0), x.shape[0]

    def step(i: tf.Tensor, held: tf.TensorArray) -> LoopVars:
        return (tf.cond(i % 2 == 0, lambda: held.write(i, row * 2.0), lambda: held),)

    return _squares(loop(n, step, _empty(n))[0])


def decay(row: tf.Tensor, n: int) -> tf.Tensor:
    """The sum of h after n iterations of h = tanh(h / 2 + row)."""
    (h,) = loop(n, lambda _, h: (tf.tanh(h * 0.5 + row),), tf.zeros_like(row))
    return tf.reduce_sum(h)


def _plain(x: tf.Tensor) -> tf.Tensor:
    return decay(tf.reduce_mean(x, 0), x.shape[0])


def _scan(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.square(tf.scan(lambda h, row: h * 0.5 + row, x)))


def _map_fn(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.square(tf.map_fn(lambda row: row * 2.0, x)))


def _hessian_vector(n: int) -> Prepared:
    def loss(x: tf.Tensor) -> tf.Tensor:
        inputs = _unstacked(x)
        start = tf.zeros_like(x[0])
        (h,) = loop(x.shape[0], lambda i, h: (tf.tanh(h * 0.5 + inputs.read(i)),), start)
        return tf.reduce_sum(h)

    def product(x: tf.Tensor) -> tf.Tensor:
        return gradient_of(lambda x: tf.reduce_sum(gradient_of(loss)(x) * 2.0))(x)

    return prepared(product, rows(n))


# The losses whose gradient in the input is measured, by the name of the case.
LOSSES: dict[str, Loss] = {
    "read": _read,
    "write": _write,
    "recurrence": _recurrence,
    "read_write": _read_write,
    "nested": _nested,
    "gather_scatter": _gather_scatter,
    "cond_read": _cond_read,
    "cond_write": _cond_write,
    "dynamic": _dynamic,
    "scan": _scan,
    "map_fn": _map_fn,
    "plain": _plain,
}


def _loop_case(name: str, what: str, target: float | Mapping[int, float] = 1.0) -> Case:
    return Case(name, what, _STEPS, of_loss(LOSSES[name]), target)


CASES = (
    _loop_case("read", "a loop reads an array", {6_400: 120.0, 25_600: 400.0}),
    _loop_case("write", "a loop writes an array", {6_400: 10.0}),
    _loop_case("recurrence", "reads i-1 and i-2, writes i", {6_400: 60.0}),
    _loop_case("read_write", "reads one array, writes another"),
    _loop_case("nested", "a loop inside a loop reads", {6_400: 20.0}),
    _loop_case("gather_scatter", "gathers and scatters"),
    _loop_case("cond_read", "reads inside tf.cond", {6_400: 600.0}),
    _loop_case("cond_write", "writes inside tf.cond"),
    _loop_case("dynamic", "writes an array that grows", {6_400: 8.0}),
    _loop_case("scan", "tf.scan", {6_400: 90.0}),
    _loop_case("map_fn", "tf.map_fn", {6_400: 60.0}),
    Case("simple_rnn", "Keras SimpleRNN", _LAYER_STEPS, keras_layer("SimpleRNN"), {3_200: 4.5}),
    Case(
        "simple_rnn_input",
        "Keras SimpleRNN, gradient of the input too",
        _STEPS,
        keras_layer("SimpleRNN", to_input=True),
    ),
    Case("lstm", "Keras LSTM", _LAYER_STEPS, keras_layer("LSTM"), {3_200: 3.5}),
    Case("gru", "Keras GRU", _LAYER_STEPS, keras_layer("GRU"), {3_200: 2.5}),
    Case(
        "hessian_vector", "Hessian-vector product of reads", _STEPS, _hessian_vector, {6_400: 20.0}
    ),
    Case("short", "reads and writes, 10 steps", (10,), of_loss(_read_write), 1.7),
    Case("large_rows", "reads and writes, rows of 4 MB", (40,), of_loss(_read_write, 1_000_000)),
    _loop_case("plain", "a loop without arrays", {6_400: 4.0}),
)


if __name__ == "__main__":
    sys.exit(harness.main("benchmarks.lists", CASES))
