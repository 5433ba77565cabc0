"""Samples the parameters of a logistic regression with NUTS of TensorFlow Probability.

    pip install '.[examples]' && pip install --no-deps 'tf-keras==2.21.*'  # as your TensorFlow
    python examples/nuts.py                            # on stock TensorFlow
    python -m tensor_array_grad examples/nuts.py       # with the library

The chain is a loop that writes arrays; a transition contains a loop that builds the tree.
"""

import argparse
from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from common import timed

tfd = tfp.distributions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=200, help="samples")
    parser.add_argument("--points", type=int, default=100, help="observations")
    args = parser.parse_args()
    samples = timed(f"{args.steps} samples", program(args.steps, args.points))
    kept = samples[len(samples) // 2 :]  # the first half depends on the start
    print("means (data: 1, -2, 0.5):", *(f"{mean:.6f}" for mean in kept.mean(axis=0)))


def program(steps: int, points: int = 100) -> Callable[[], np.ndarray]:
    """Prepares the sampling.

    Args:
      steps: Number of samples.
      points: Number of random observations.

    Returns:
      A function that returns samples of the three weights, [steps, 3].
    """
    features = tf.random.stateless_normal([points, 3], [1, 2])
    chances = tf.sigmoid(tf.linalg.matvec(features, [1.0, -2.0, 0.5]))
    labels = tf.cast(tf.random.stateless_uniform([points], [5, 6]) < chances, tf.float32)

    def log_density(weights: tf.Tensor) -> tf.Tensor:
        logits = tf.linalg.matvec(features, weights)
        likelihood = tf.reduce_sum(tfd.Bernoulli(logits=logits).log_prob(labels))
        return likelihood - tf.reduce_sum(tf.square(weights)) / 2

    @tf.function
    def sample() -> tf.Tensor:
        return tfp.mcmc.sample_chain(
            steps,
            tf.zeros([3]),
            kernel=tfp.mcmc.NoUTurnSampler(log_density, step_size=0.3, max_tree_depth=5),
            trace_fn=None,
            seed=[3, 4],
        )

    return lambda: sample().numpy()


if __name__ == "__main__":
    main()
