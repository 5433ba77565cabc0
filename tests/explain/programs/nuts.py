"""TensorFlow Probability's No-U-Turn sampler."""

import tensorflow as tf
import tensorflow_probability as tfp


def density(x):
    return -0.5 * tf.reduce_sum(x * x)


@tf.function
def sample():
    kernel = tfp.mcmc.NoUTurnSampler(density, step_size=0.3, max_tree_depth=3)
    start = tf.zeros([2])
    options = {"kernel": kernel, "trace_fn": None, "seed": [1, 2]}
    # The sampler has a loop for the samples, and one for the steps of each.
    chain = tfp.mcmc.sample_chain
    return chain(5, start, **options)  # loop: forward, one kernel; forward, inside, one kernel


print(sample().shape)
