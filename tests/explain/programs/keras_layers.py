"""A Keras model with two LSTMs and a custom cell."""

import keras
import tensorflow as tf


class Leaky(keras.layers.Layer):
    """A cell that keeps a part of its state."""

    def __init__(self, units):
        super().__init__()
        self.units = self.state_size = units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), initializer="ones")

    def call(self, inputs, states):
        state = 0.9 * states[0] + tf.tanh(inputs @ self.kernel)
        return state, [state]


keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        keras.layers.LSTM(4, return_sequences=True, name="first"),
        keras.layers.LSTM(4, return_sequences=True, name="second"),
        keras.layers.RNN(Leaky(4), name="leaky"),
    ]
)
model.compile("sgd", "mse")
# layers: first, second, leaky
model.fit(  # loop: forward, one kernel; gradient, one kernel
    tf.ones([8, 40, 3]), tf.ones([8, 4]), batch_size=4, verbose=0
)
