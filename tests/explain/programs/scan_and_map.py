"""`tf.scan` and `tf.map_fn` with gradients."""

import tensorflow as tf


def step(state, row):
    return tf.tanh(state + row)


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        states = tf.scan(step, x, tf.zeros([8]))  # loop: forward, one kernel; gradient, one kernel
        squares = tf.map_fn(  # loop: forward, one kernel; gradient, one kernel
            lambda row: row * row, states
        )
        loss = tf.reduce_sum(squares)
    return tape.gradient(loss, x)


print(train(tf.ones([300, 8])).numpy().sum())
