"""Trains a recurrent cell whose loop indexes its input, and prints how long a step takes.

    python examples/indexing.py                        # on stock TensorFlow
    python -m tensor_array_grad examples/indexing.py   # with the library

The loop is `for i in tf.range(n): h = cell(x[:, i], h)`. On stock TensorFlow, the gradient of each
iteration is a tensor of the size of x, so a loop of twice the length takes four times as long. With
the library it takes twice as long.
"""

import argparse
import time

import tensorflow as tf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--batch", type=int, default=8, help="sequences")
    parser.add_argument("--lengths", type=int, nargs="+", default=[800, 1600, 3200])
    parser.add_argument("--units", type=int, default=16, help="width of the state and the input")
    args = parser.parse_args()
    for length in args.lengths:
        loss, seconds = train(args.batch, length, args.units)
        print(f"{length:6} steps: {seconds * 1e3:8.1f} ms a training step, loss {loss:.6f}")


def train(batch: int, length: int, units: int) -> tuple[float, float]:
    """Trains three times on random sequences.

    Args:
      batch: Number of sequences.
      length: Elements of each sequence.
      units: Width of an element and of the state.

    Returns:
      The last loss, and the seconds that the fastest training step took.
    """
    x = tf.random.stateless_normal([batch, length, units], [1, 2])
    embedding = tf.Variable(tf.eye(units))
    recurrent = tf.Variable(tf.random.stateless_normal([units, units], [3, 4], stddev=0.1))

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            entering = x @ embedding
            h = tf.zeros([batch, units])
            for i in tf.range(length):
                h = tf.tanh(entering[:, i] + h @ recurrent)
            loss = tf.reduce_mean(tf.square(h - 0.5))
        for variable, gradient in zip(
            [embedding, recurrent], tape.gradient(loss, [embedding, recurrent]), strict=True
        ):
            variable.assign_sub(0.1 * gradient)
        return loss

    step()  # traces
    fastest = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        loss = float(step())
        fastest = min(fastest, time.perf_counter() - start)
    return loss, fastest


if __name__ == "__main__":
    main()
