"""A filter of a stream of measurements, before and after two changes that `explain` names.

    python -m tensor_array_grad explain examples/stream_filter.py             # as it was written
    python -m tensor_array_grad explain examples/stream_filter.py --changes 1
    python -m tensor_array_grad explain examples/stream_filter.py --changes 2

The filter estimates a level and a slope, and does not follow measurements that are far from what it
expects. As it was written, its loop takes each measurement out of a queue, and calls NumPy to limit
the error. With the first change it takes all measurements out of the queue before the loop. With
the second, ops of TensorFlow limit the error.
"""

import argparse
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from common import timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=20_000, help="number of measurements")
    parser.add_argument("--changes", type=int, default=0, choices=(0, 1, 2))
    args = parser.parse_args()
    level, slope = timed(f"{args.steps} measurements", program(args.steps, args.changes))
    print(f"level {level:.6f}, slope {slope:.6f}")


def limited(error: np.ndarray) -> np.ndarray:
    """The error, but no more than 1 in either direction."""
    return np.clip(error, np.float32(-1), np.float32(1))


def program(steps: int, changes: int = 2) -> Callable[[], np.ndarray]:
    """Prepares the filter.

    Args:
      steps: The number of measurements of each call.
      changes: How many of the two changes are made.

    Returns:
      A function that filters a new stream, and returns the last estimates of level and slope.
    """
    queue = tf.queue.FIFOQueue(steps, tf.float32, [()])
    times = np.arange(steps, dtype=np.float32) / steps
    noise = np.random.default_rng(1).standard_t(2, steps)
    stream = (times + 0.1 * noise).astype(np.float32)

    def follow(measured: tf.Tensor, level: tf.Tensor, slope: tf.Tensor) -> tuple[tf.Tensor, ...]:
        expected = level + slope
        error = measured - expected
        if changes < 2:
            error = tf.ensure_shape(tf.numpy_function(limited, [error], tf.float32), ())
        else:
            error = tf.clip_by_value(error, -1.0, 1.0)
        return expected + 0.05 * error, slope + 0.001 * error

    @tf.function
    def as_written() -> tf.Tensor:
        level, slope = tf.constant(0.0), tf.constant(0.0)
        for _ in tf.range(steps):
            level, slope = follow(queue.dequeue(), level, slope)
        return tf.stack([level, slope])

    @tf.function
    def changed() -> tf.Tensor:
        level, slope = tf.constant(0.0), tf.constant(0.0)
        for measured in queue.dequeue_many(steps):
            level, slope = follow(measured, level, slope)
        return tf.stack([level, slope])

    def call() -> np.ndarray:
        queue.enqueue_many([stream])
        return (changed if changes else as_written)().numpy()

    return call


if __name__ == "__main__":
    main()
