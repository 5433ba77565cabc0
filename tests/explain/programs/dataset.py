"""A loop in a function of tf.data."""

import tensorflow as tf


def collatz(n):
    count = tf.constant(0)
    while n > 1:  # loop: forward, one kernel
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


data = tf.data.Dataset.range(1, 40).map(collatz)
print(sum(int(count) for count in data))
