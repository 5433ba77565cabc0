"""The forecaster in TF2, as a tf.function and in Keras. Its tf.TensorArrays are lists."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tensor_array_grad.demo import forecaster
from tensor_array_grad.demo.data import Floats, Record


class FunctionTrainer:
    """The same model as that of the TF1 graph, trained by one tf.function."""

    def __init__(self, record: Record, units: int, indexed: bool = False) -> None:
        """Makes the weights. The first step traces the function.

        Args:
          record: The series to train on.
          units: Width of the hidden state.
          indexed: Whether the loop indexes a tensor of the inputs, instead of reading an array.
        """
        weights = forecaster.variables(record, units)
        trained = list(weights.values())
        optimizer = tf.keras.optimizers.Adam(forecaster.LEARNING_RATE)
        optimizer.build(trained)

        def step() -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss, _ = forecaster.forward(weights, record, indexed)
            gradients = forecaster.clipped(tape.gradient(loss, trained))
            optimizer.apply_gradients(zip(gradients, trained, strict=True))
            return loss

        self._step = tf.function(step, jit_compile=False)
        self._outputs = tf.function(lambda: forecaster.forward(weights, record, indexed)[1])

    def step(self) -> float:
        """Trains once on the whole series.

        Returns:
          The loss before the update of the weights.
        """
        return float(self._step())

    def outputs(self) -> Floats:
        """The model's prediction of the record's `targets`, `[n]`."""
        return np.asarray(self._outputs(), np.float32)


class KerasTrainer:
    """A Keras model of the same width. Its state does not depend on the state one year before.

    Keras has no layer for such a dependence.
    """

    def __init__(self, record: Record, units: int) -> None:
        """Builds and compiles the model.

        Args:
          record: The series to train on.
          units: Width of the hidden state.
        """
        tf.keras.utils.set_random_seed(1)
        n, features = record.features.shape
        layers = [
            tf.keras.Input([n, features]),
            tf.keras.layers.SimpleRNN(units, return_sequences=True),
            tf.keras.layers.Dense(1),
        ]
        self._model = tf.keras.Sequential(layers)
        # Without jit_compile=False, Keras would compile the loop with XLA if it saw a GPU.
        self._model.compile(
            tf.keras.optimizers.Adam(forecaster.LEARNING_RATE, global_clipnorm=1.0),
            "mse",
            jit_compile=False,
        )
        self._inputs = record.features[np.newaxis]
        self._targets = record.targets[np.newaxis, :, np.newaxis]
        self._trained = record.trained[np.newaxis]

    def step(self) -> float:
        """Trains once on the whole series.

        Returns:
          The loss before the update of the weights.
        """
        self._model.reset_metrics()
        return float(self._model.train_on_batch(self._inputs, self._targets, self._trained))

    def outputs(self) -> Floats:
        """The model's prediction of the record's `targets`, `[n]`."""
        guess = self._model.predict_on_batch(self._inputs)
        return np.asarray(guess, np.float32)[0, :, 0]
