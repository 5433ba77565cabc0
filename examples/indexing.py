"""Trains a recurrent cell whose loop indexes its input.

    python examples/indexing.py                        # on stock TensorFlow
    python -m tensor_array_grad examples/indexing.py   # with the library

The loop is `for i in tf.range(n): h = cell(x[:, i], h)`, where x depends on a variable and so has a
gradient. On stock TensorFlow, each iteration of the backward loop makes a tensor of the size of x,
so the time of a long loop grows with the square of its length. With the library it grows linearly.
"""

import argparse
from collections.abc import Callable

import tensorflow as tf
from common import descend, timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=3200, help="length of a sequence")
    parser.add_argument("--batch", type=int, default=8, help="number of sequences")
    parser.add_argument("--units", type=int, default=16, help="width of the state and the input")
    args = parser.parse_args()
    loss = timed(
        f"training step, {args.steps} iterations", program(args.steps, args.batch, args.units)
    )
    print(f"loss after 3 updates: {loss:.6f}")


def program(steps: int, batch: int = 8, units: int = 16) -> Callable[[], float]:
    """Prepares the training on random sequences.

    Args:
      steps: Elements of each sequence.
      batch: Number of sequences.
      units: Width of an element and of the state.

    Returns:
      A function that makes one update and returns the loss before the update.
    """
    x = tf.random.stateless_normal([batch, steps, units], [1, 2])
    embedding = tf.Variable(tf.eye(units))
    recurrent = tf.Variable(tf.random.stateless_normal([units, units], [3, 4], stddev=0.1))

    @tf.function
    def train() -> tf.Tensor:
        with tf.GradientTape() as tape:
            # The input of the loop depends on a variable. A constant input would need no gradient,
            # so the loop would be fast on stock too.
            entering = x @ embedding
            h = tf.zeros([batch, units])
            for i in tf.range(steps):
                h = tf.tanh(entering[:, i] + h @ recurrent)
            loss = tf.reduce_mean(tf.square(h - 0.5))
        descend(tape, loss, [embedding, recurrent], rate=0.1)
        return loss

    return lambda: float(train())


if __name__ == "__main__":
    main()
