"""The log-probability of TensorFlow Probability's hidden Markov model, and its gradient."""

import tensorflow as tf
import tensorflow_probability as tfp

tfd = tfp.distributions


@tf.function
def loss(logits, x):
    model = tfd.HiddenMarkovModel(
        tfd.Categorical(logits=tf.zeros([3])),
        tfd.Categorical(logits=logits),
        tfd.Normal([0.0, 1.0, 2.0], 1.0),
        num_steps=200,
    )
    with tf.GradientTape() as tape:
        tape.watch(logits)
        value = model.log_prob(x)  # loop: forward, one kernel; gradient, one kernel
    return value, tape.gradient(value, logits)


print(loss(tf.eye(3), tf.ones([200]))[0].numpy())
