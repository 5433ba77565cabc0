"""A SavedModel with a loop: the program that loads it has no line for it."""

import tempfile

import tensorflow as tf


class Model(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def run(self, x):
        for _ in tf.range(100):
            x = 0.5 * x + 1.0
        return x


folder = tempfile.mkdtemp()
tf.saved_model.save(Model(), folder)
# without a line: forward, one kernel
print(tf.saved_model.load(folder).run(tf.constant(3.0)).numpy())
