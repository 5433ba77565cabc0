"""Three loops, each inside the other, with gradients."""

import tensorflow as tf


def innermost(x, y):
    for _ in tf.range(3):  # loop: forward, inside, one kernel; gradient, inside, one kernel
        y = tf.sin(y) + x
    return y


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in tf.range(5):  # loop: forward, one kernel; gradient, one kernel
            for _ in tf.range(4):  # loop: forward, inside, one kernel; gradient, inside, one kernel
                y = innermost(x, y)
    return tape.gradient(y, x)


print(train(tf.constant(0.3)).numpy())
