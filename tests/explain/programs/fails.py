"""A program that fails in a loop, and ends with a traceback and the exit status 1."""

import tensorflow as tf


@tf.function
def check(x):
    for i in tf.range(100):  # loop: forward, one kernel
        tf.debugging.assert_less(i, 50, message="too far")
        x += 1.0
    return x


print(check(tf.constant(0.0)))
