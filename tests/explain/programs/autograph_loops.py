"""Loops that autograph makes of `for` and `while`; one of them reads a queue."""

import tensorflow as tf

queue = tf.queue.FIFOQueue(100, tf.float32, [[]])


@tf.function
def decay(x):
    for _ in tf.range(200):  # loop: forward, one kernel
        x = 0.5 * x + 1.0
    return x


@tf.function
def halve(x):
    count = 0
    while x > 1.0:  # loop: forward, one kernel
        x /= 2.0
        count += 1
    return count


@tf.function
def drain(x):
    for _ in tf.range(50):  # loop: forward, executor
        x += queue.dequeue()  # cause
    return x


print(decay(tf.constant(1.0)).numpy(), halve(tf.constant(1e30)).numpy())
queue.enqueue_many([tf.ones([50])])
print(drain(tf.constant(0.0)).numpy())
