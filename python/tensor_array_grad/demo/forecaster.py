"""The forecaster, in operations that work in a TF1 graph and in a tf.function."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from tensor_array_grad.demo.data import YEAR, Floats, Record

LEARNING_RATE = 0.01
_LARGEST_NORM = 1.0  # gradients through thousands of iterations can be large, so they are clipped


@dataclasses.dataclass(frozen=True)
class Weights:
    """The model's parameters; `units` is the width of the hidden state.

    Attributes:
      enter: `[features, units]`, from the features of a week to its state.
      last: `[units, units]`, from the state one week before.
      year: `[units, units]`, from the state one year before.
      bias: `[units]`.
      leave: `[units, 1]`, from the state to the forecast.
    """

    enter: Floats
    last: Floats
    year: Floats
    bias: Floats
    leave: Floats


def first_weights(features: int, units: int, seed: int = 1) -> Weights:
    """Draws the initial weights, which are the same in every run.

    Args:
      features: Number of features per week.
      units: Width of the hidden state.
      seed: Equal seeds give equal weights in every process.

    Returns:
      The weights.
    """
    rng = np.random.default_rng(seed)

    def draw(rows: int, columns: int, gain: float) -> Floats:
        return rng.normal(scale=gain / np.sqrt(rows), size=(rows, columns)).astype(np.float32)

    return Weights(
        enter=draw(features, units, 1.0),
        last=draw(units, units, 0.3),
        year=draw(units, units, 0.3),
        bias=np.zeros(units, np.float32),
        leave=draw(units, 1, 0.5),
    )


def states(
    entering: tf.Tensor, last: tf.Tensor, year: tf.Tensor, indexed: bool = False
) -> tf.Tensor:
    """The hidden states h, with h[t] = tanh(entering[t] + h[t - 1] @ last + h[t - YEAR] @ year).

    One array holds all states, after a year of zeros. Each iteration reads two states and writes
    one. The gradient of a state is therefore a sum of up to three terms, one for each of the two
    reads and one for the final stack.

    Args:
      entering: `[n, units]`, the contribution of the features to each state.
      last: `[units, units]`.
      year: `[units, units]`.
      indexed: Whether the loop reads `entering[week]` instead of an array of its rows.

    Returns:
      `[n, units]`.
    """
    n, units = entering.shape
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


def forward(
    weights: dict[str, tf.Variable], record: Record, indexed: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """Runs the forecaster on the whole record.

    Args:
      weights: Variables, by the names of the fields of `Weights`.
      record: The series.
      indexed: As for `states`.

    Returns:
      `(loss, outputs)`: the mean square error over the trained weeks, a scalar, and the prediction
      of `record.targets`, `[n]`.
    """
    entering = record.features @ weights["enter"] + weights["bias"]
    hidden = states(entering, weights["last"], weights["year"], indexed)
    outputs = tf.squeeze(hidden @ weights["leave"], 1)
    squares = tf.square(outputs - record.targets) * record.trained
    return tf.reduce_sum(squares) / record.trained.sum(), outputs


def variables(record: Record, units: int) -> dict[str, tf.Variable]:
    """Makes the variables of a forecaster.

    Args:
      record: The series to train on.
      units: Width of the hidden state.

    Returns:
      Variables with the values of `first_weights`, by the names of the fields of `Weights`.
    """
    first = first_weights(record.features.shape[1], units)
    return {name: tf.Variable(value, name=name) for name, value in vars(first).items()}


def clipped(gradients: list[tf.Tensor]) -> list[tf.Tensor]:
    """Scales all gradients by one factor if their global norm exceeds `_LARGEST_NORM`."""
    scaled: list[tf.Tensor] = tf.clip_by_global_norm(gradients, _LARGEST_NORM)[0]
    return scaled
