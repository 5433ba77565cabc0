"""Trains a recurrent cell whose loop indexes its input.

    python examples/indexing.py                        # on stock TensorFlow
    python -m tensor_array_grad examples/indexing.py   # with the library

The loop is `for i in tf.range(n): h = cell(x[:, i], h)`. On stock TensorFlow, the gradient of each
iteration is a tensor of the size of x, so a loop of twice the length takes four times as long. With
the library it takes twice as long.
"""

import argparse
from collections.abc import Callable

import tensorflow as tf
from timing import timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=3200, help="length of a sequence")
    parser.add_argument("--batch", type=int, default=8, help="sequences")
    parser.add_argument("--units", type=int, default=16, help="width of the state and the input")
    args = parser.parse_args()
    loss = timed(f"{args.steps} steps", program(args.steps, args.batch, args.units))
    print(f"loss {loss:.6f}")


def program(steps: int, batch: int = 8, units: int = 16) -> Callable[[], float]:
    """Prepares the training on random sequences.

    Args:
      steps: Elements of each sequence.
      batch: Number of sequences.
      units: Width of an element and of the state.

    Returns:
      A function that trains for one step and returns the loss before it.
    """
    x = tf.random.stateless_normal([batch, steps, units], [1, 2])
    embedding = tf.Variable(tf.eye(units))
    recurrent = tf.Variable(tf.random.stateless_normal([units, units], [3, 4], stddev=0.1))

    @tf.function
    def train() -> tf.Tensor:
        with tf.GradientTape() as tape:
            entering = x @ embedding
            h = tf.zeros([batch, units])
            for i in tf.range(steps):
                h = tf.tanh(entering[:, i] + h @ recurrent)
            loss = tf.reduce_mean(tf.square(h - 0.5))
        for variable, gradient in zip(
            [embedding, recurrent], tape.gradient(loss, [embedding, recurrent]), strict=True
        ):
            variable.assign_sub(0.1 * gradient)
        return loss

    return lambda: float(train())


if __name__ == "__main__":
    main()
