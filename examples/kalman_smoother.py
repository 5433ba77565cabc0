"""Smooths the weekly CO2 record of Mauna Loa with a Kalman smoother of TensorFlow Probability.

    pip install '.[examples]' && pip install --no-deps 'tf-keras==2.21.*'  # as your TensorFlow
    python examples/kalman_smoother.py                            # on stock TensorFlow
    python -m tensor_array_grad examples/kalman_smoother.py       # with the library

The model is a level with a slope and a yearly cycle. Weeks without a measurement are masked. The
smoother runs a forward loop over the weeks, then a backward loop that reads the arrays that the
forward loop wrote.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from common import timed
from statsmodels.datasets import co2
from tensorflow_probability import distributions as tfd

WEEKS_PER_YEAR = 365.25 / 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=2000, help="weeks, at most 2284")
    args = parser.parse_args()
    smoothed = timed(f"{args.steps} weeks", program(args.steps))
    for week in (0, len(smoothed) // 2, len(smoothed) - 1):
        level, deviation = smoothed[week]
        print(f"week {week:4}: {level:.6f} ppm +- {deviation:.6f}")


def program(steps: int) -> Callable[[], np.ndarray]:
    """Prepares the smoother for the first weeks of the record.

    Args:
      steps: Number of weeks, at most 2284.

    Returns:
      A function that returns the level and its standard deviation in ppm for each week, [weeks, 2].
    """
    weeks = co2.load_pandas().data["co2"].to_numpy()
    if not 1 <= steps <= len(weeks):
        raise ValueError(f"steps is {steps}, need 1 to {len(weeks)}")
    record = weeks[:steps, np.newaxis]
    missing = np.isnan(record[:, 0])
    start = record[0, 0]
    observed = tf.constant(np.where(np.isnan(record), 0, record - start))
    model = state_space_model(len(record))

    @tf.function
    def smooth() -> tf.Tensor:
        means, covariances = model.posterior_marginals(observed, mask=tf.constant(missing))
        return tf.stack([means[:, 0] + start, tf.sqrt(covariances[:, 0, 0])], axis=1)

    return lambda: smooth().numpy()


def state_space_model(steps: int) -> tfd.LinearGaussianStateSpaceModel:
    """A model of the states (level, slope per week, cosine and sine of the year), in ppm."""
    turn = 2 * math.pi / WEEKS_PER_YEAR
    transition = tf.constant(
        [
            [1, 1, 0, 0],
            [0, 1, 0, 0],
            [0, 0, math.cos(turn), math.sin(turn)],
            [0, 0, -math.sin(turn), math.cos(turn)],
        ],
        tf.float64,
    )
    zeros = tf.zeros([4], tf.float64)
    drift = tf.constant([0.05, 0.001, 0.02, 0.02], tf.float64)
    return tfd.LinearGaussianStateSpaceModel(
        num_timesteps=steps,
        transition_matrix=transition,
        transition_noise=tfd.MultivariateNormalDiag(zeros, drift),
        observation_matrix=tf.constant([[1, 0, 1, 0]], tf.float64),
        observation_noise=tfd.MultivariateNormalDiag(zeros[:1], tf.constant([0.3], tf.float64)),
        initial_state_prior=tfd.MultivariateNormalDiag(
            zeros, tf.constant([3.0, 0.1, 3, 3], tf.float64)
        ),
    )


if __name__ == "__main__":
    main()
