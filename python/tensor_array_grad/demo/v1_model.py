"""The forecaster as a TF1 graph, with V3 arrays. Its gradient uses TensorArrayGradV3."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from tensor_array_grad.demo import forecaster
from tensor_array_grad.demo.data import Floats, Record


@contextlib.contextmanager
def v1_control_flow() -> Iterator[None]:
    """Context in which loops become TF1 loops, whose TensorArrays are V3 arrays, not lists."""
    was_on = tf.compat.v1.control_flow_v2_enabled()
    tf.compat.v1.disable_control_flow_v2()
    try:
        yield
    finally:
        if was_on:
            tf.compat.v1.enable_control_flow_v2()


class Trainer:
    """One graph, its session and its weights. Each `step` trains once on all weeks."""

    def __init__(self, record: Record, units: int) -> None:
        """Builds the graph and sets the weights.

        Args:
          record: The series to train on.
          units: Width of the hidden state.
        """
        with tf.Graph().as_default() as graph, v1_control_flow():
            weights = forecaster.variables(record, units)
            self._loss, self._outputs = forecaster.forward(weights, record)
            self._train = _train_op(self._loss, list(weights.values()))
            start = tf.compat.v1.global_variables_initializer()
        self._session = tf.compat.v1.Session(graph=graph)
        self._session.run(start)

    def step(self) -> float:
        """Trains once on the whole series.

        Returns:
          The loss before the update of the weights.
        """
        return float(self._session.run([self._loss, self._train])[0])

    def outputs(self) -> Floats:
        """The model's prediction of the record's `targets`, `[n]`."""
        return np.asarray(self._session.run(self._outputs), np.float32)


def _train_op(loss: tf.Tensor, weights: list[tf.Variable]) -> tf.Operation:
    gradients = forecaster.clipped(tf.gradients(loss, weights))
    optimizer = tf.compat.v1.train.AdamOptimizer(forecaster.LEARNING_RATE)
    return optimizer.apply_gradients(zip(gradients, weights, strict=True))
