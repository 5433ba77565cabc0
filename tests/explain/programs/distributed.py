"""A training step of a distribution strategy with two CPU devices."""

import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    weight = tf.Variable(0.5)


def replica():
    with tf.GradientTape() as tape:
        x = tf.constant(1.0)
        for _ in tf.range(50):  # loop: forward, one kernel; gradient, one kernel
            x = tf.tanh(x * weight)
    return tape.gradient(x, weight)


@tf.function
def step():
    return strategy.reduce("SUM", strategy.run(replica), axis=None)


print(step().numpy())
