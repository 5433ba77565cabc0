"""A TF1 graph with a conditional in a loop, its gradient, and a Session."""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def body(i, x):
    x = tf.cond(x > 2.0, lambda: x * 0.5, lambda: x * 1.5)
    return i + 1, x


start = tf.placeholder(tf.float32, [])
_, end = tf.while_loop(  # loop: forward, one kernel
    lambda i, x: i < 100, body, (0, start)
)
slope = tf.gradients(end, start)  # loop: gradient, one kernel
with tf.Session() as session:
    for _ in range(3):
        print(session.run([end, slope], {start: 1.0}))
