"""Trains a Keras LSTM of 128 units with `model.fit`.

    python examples/lstm_fit.py                            # on stock TensorFlow
    python -m tensor_array_grad examples/lstm_fit.py       # with the library

`jit_compile=False` keeps Keras from compiling the model with XLA, which is its default if
TensorFlow sees a GPU. The library does not change compiled code.
"""

import argparse
import sys
from collections.abc import Callable

import keras
import numpy as np
from common import timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=400, help="length of a sequence")
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=4, help="batches per epoch")
    args = parser.parse_args()
    if keras.backend.backend() != "tensorflow":
        sys.exit(f"Keras uses {keras.backend.backend()}; set KERAS_BACKEND=tensorflow")
    loss = timed(
        f"epoch of sequences of {args.steps}",
        program(args.steps, args.units, args.batch, args.batches),
    )
    print(f"mean loss of epoch 4: {loss:.6f}")


def program(steps: int, units: int = 128, batch: int = 32, batches: int = 4) -> Callable[[], float]:
    """Prepares the training on random sequences.

    Args:
      steps: Elements of a sequence, vectors of 8 numbers.
      units: Width of the state.
      batch: Sequences per batch.
      batches: Batches per epoch.

    Returns:
      A function that trains for one epoch and returns the mean loss of this epoch.
    """
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(1).normal(size=(batch * batches, steps, 8))
    x = x.astype(np.float32)
    y = np.tanh(x[:, -1].sum(axis=1, keepdims=True))  # of the last element of each sequence
    model = keras.Sequential([keras.layers.LSTM(units), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(1e-3), "mse", jit_compile=False)

    def epoch() -> float:
        fitted = model.fit(x, y, batch_size=batch, shuffle=False, verbose=0)
        return float(fitted.history["loss"][0])

    return epoch


if __name__ == "__main__":
    main()
