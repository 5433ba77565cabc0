"""The program that the demonstration runs: a forecaster of the CO2 at Mauna Loa, in four forms.

It is an ordinary TensorFlow program, which does not import tensor_array_grad. It trains each form
on series of increasing length. Standard output has the loss of each training step; standard error
has the times, one line of JSON per form and length:

    python program.py 571 1142 2284
"""

from __future__ import annotations

import json
import pathlib
import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import tensorflow as tf

Floats = npt.NDArray[np.float32]
# Trains once on the features and targets of a series, and returns the loss before the update.
Step = Callable[[Floats, Floats], float]

YEAR = 52  # weeks; each state of the model depends on the states one week and one year before
HORIZON = 13  # weeks; a forecast is for a quarter of a year later
_RECORD = pathlib.Path(__file__).with_name("co2.txt")
_LAGS = (1, HORIZON, YEAR)  # the features of a week are the changes since these weeks
_UNITS = 32  # the width of the hidden state
_STEPS = 3  # timed, for each form and length
_RATE = 0.1  # of the gradient descent
_LARGEST_NORM = 1.0  # gradients through thousands of iterations can be large, so they are clipped


def series(rows: int) -> tuple[Floats, Floats]:
    """The first weeks of the record, as features and targets of a forecaster.

    If the record has fewer weeks (2,284), all of it is sampled at `rows` points by linear
    interpolation.

    Returns:
      `[rows, 3]`, the changes over the last week, quarter and year; and `[rows]`, the change over
      the next quarter, 0 where it is not known. Both are standardised.
    """
    weeks = np.loadtxt(_RECORD).ravel()
    places = np.linspace(0, len(weeks) - 1, rows) if rows > len(weeks) else np.arange(rows)
    ppm = np.interp(places, np.arange(len(weeks)), weeks)
    features = np.stack([_change(ppm, lag) for lag in _LAGS], axis=1)
    targets = np.roll(_change(ppm, HORIZON), -HORIZON)
    return _standardised(features), _standardised(targets)


def _change(ppm: npt.NDArray[np.float64], lag: int) -> npt.NDArray[np.float64]:
    """`ppm[i] - ppm[i - lag]`, and 0 in the first `lag` weeks."""
    return np.concatenate([np.zeros(lag), ppm[lag:] - ppm[:-lag]])


def _standardised(values: npt.NDArray[np.float64]) -> Floats:
    return np.asarray((values - values.mean(0)) / values.std(0), np.float32)


def states(entering: tf.Tensor, last: tf.Tensor, year: tf.Tensor, indexed: bool) -> tf.Tensor:
    """The hidden states h, with h[t] = tanh(entering[t] + h[t - 1] @ last + h[t - YEAR] @ year).

    One array holds all states, after a year of zeros. Each iteration reads two states and writes
    one. The gradient of a state is therefore a sum of up to three terms, one for each of the two
    reads and one for the final stack.

    `entering` and the states are `[n, units]`; `last` and `year` are `[units, units]`. If
    `indexed`, the loop reads `entering[week]` instead of an array of its rows.
    """
    n, units = tf.shape(entering)[0], entering.shape[1]
    inputs = tf.TensorArray(tf.float32, n, element_shape=[units]).unstack(entering)
    entering_at = entering.__getitem__ if indexed else inputs.read
    held = tf.TensorArray(tf.float32, n + YEAR, element_shape=[units], clear_after_read=False)
    held = held.scatter(tf.range(YEAR), tf.zeros([YEAR, units]))

    def step(week: tf.Tensor, held: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        recurrent = tf.linalg.matvec(last, held.read(week + YEAR - 1), transpose_a=True)
        seasonal = tf.linalg.matvec(year, held.read(week), transpose_a=True)
        state = tf.tanh(entering_at(week) + recurrent + seasonal)
        return week + 1, held.write(week + YEAR, state)

    _, held = tf.compat.v1.while_loop(lambda week, _: week < n, step, [tf.constant(0), held])
    return held.stack()[YEAR:]


def _weights() -> list[tf.Variable]:
    """From features to states, between states (`last` and `year`), from states to forecasts."""
    rng = np.random.default_rng(1)
    sizes = ((len(_LAGS), _UNITS), (_UNITS, _UNITS), (_UNITS, _UNITS), (_UNITS, 1))
    gains = (1.0, 0.3, 0.3, 0.5)
    drawn = (rng.normal(0, g / size[0] ** 0.5, size) for g, size in zip(gains, sizes, strict=True))
    return [tf.Variable(values, dtype=tf.float32) for values in drawn]


def _train(
    features: tf.Tensor, targets: tf.Tensor, weights: list[tf.Variable], indexed: bool
) -> tf.Tensor:
    """Makes one step of gradient descent. Returns the mean square error before it."""
    enter, last, year, leave = weights
    outputs = states(features @ enter, last, year, indexed) @ leave
    loss = tf.reduce_mean(tf.square(outputs[:, 0] - targets))
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, weights), _LARGEST_NORM)
    pairs = zip(weights, gradients, strict=True)
    with tf.control_dependencies([weight.assign_sub(_RATE * grad) for weight, grad in pairs]):
        return tf.identity(loss)


def function_step(indexed: bool) -> Step:
    """The forecaster as a tf.function, which is traced once for all lengths.

    If `indexed`, its loop indexes a tensor of the inputs, instead of reading an array.
    """
    weights = _weights()
    step = tf.function(
        lambda features, targets: _train(features, targets, weights, indexed),
        input_signature=[tf.TensorSpec([None, len(_LAGS)]), tf.TensorSpec([None])],
    )
    return lambda features, targets: float(step(features, targets))


def graph_step() -> Step:
    """The forecaster as a TF1 graph with V3 arrays; its gradient uses TensorArrayGradV3."""
    with tf.Graph().as_default() as graph:
        tf.compat.v1.disable_control_flow_v2()  # its loops would hold lists instead of V3 arrays
        try:
            features = tf.compat.v1.placeholder(tf.float32, [None, len(_LAGS)])
            targets = tf.compat.v1.placeholder(tf.float32, [None])
            loss = _train(features, targets, _weights(), indexed=False)
        finally:
            tf.compat.v1.enable_control_flow_v2()
        start = tf.compat.v1.global_variables_initializer()
    session = tf.compat.v1.Session(graph=graph)
    session.run(start)
    return lambda *values: float(session.run(loss, {features: values[0], targets: values[1]}))


def keras_step() -> Step:
    """A Keras model of the same width, without the state of a year before: Keras has none."""
    tf.keras.utils.set_random_seed(1)
    layers = [
        tf.keras.Input([None, len(_LAGS)]),
        tf.keras.layers.SimpleRNN(_UNITS, return_sequences=True),
        tf.keras.layers.Dense(1),
    ]
    model = tf.keras.Sequential(layers)
    model.compile(tf.keras.optimizers.SGD(_RATE, global_clipnorm=_LARGEST_NORM), "mse")

    def step(features: Floats, targets: Floats) -> float:
        model.reset_metrics()
        return float(model.train_on_batch(features[None], targets[None, :, None]))

    return step


FORMS: dict[str, Callable[[], Step]] = {
    "tf.function, array": lambda: function_step(indexed=False),
    "tf.function, x[i]": lambda: function_step(indexed=True),
    "Keras model": keras_step,
    "TF1 graph": graph_step,
}


def main(lengths: list[int]) -> None:
    """Trains each form on series of all `lengths`, and prints the losses and the times."""
    for form, make in FORMS.items():
        step = make()
        step(*series(lengths[0]))  # traces
        for rows in lengths:
            features, targets = series(rows)
            seconds = []
            for _ in range(_STEPS):
                start = time.perf_counter()
                loss = step(features, targets)
                seconds.append(time.perf_counter() - start)
                print(f"{form}, {rows} rows: loss {loss:.8f}")
            print(json.dumps({"form": form, "rows": rows, "seconds": seconds}), file=sys.stderr)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
