"""A loop in a function that another loop calls, and a Python function in a loop."""

import tensorflow as tf


@tf.function(autograph=True, experimental_attributes={"_noinline": True})
def inner(x):
    for _ in tf.range(10):  # loop: forward, one kernel; forward, inside, one kernel
        x = tf.sin(x) + 0.1
    return x


@tf.function
def outer(x):
    for _ in tf.range(20):  # loop: forward, one kernel
        x = inner(x)
    return x


@tf.function
def python(x):
    for _ in tf.range(20):  # loop: forward, one kernel
        y = tf.py_function(lambda v: v * 0.5, [x], tf.float32)  # cause
        x = tf.ensure_shape(y, [])
    return x


print(outer(tf.constant(0.5)).numpy(), python(tf.constant(0.5)).numpy())
