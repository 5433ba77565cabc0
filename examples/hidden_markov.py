"""Makes steps of gradient descent on a hidden Markov model of TensorFlow Probability.

    pip install '.[examples]' && pip install --no-deps 'tf-keras==2.21.*'  # as your TensorFlow
    python examples/hidden_markov.py                              # on stock TensorFlow
    python -m tensor_array_grad examples/hidden_markov.py         # with the library
    python -m tensor_array_grad compare examples/hidden_markov.py

`HiddenMarkovModel.log_prob` is a loop over the observations that reads an array. On stock
TensorFlow the time of its gradient grows with the square of their number.
"""

import argparse
from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from common import descend, timed

tfd = tfp.distributions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=4000, help="observations")
    parser.add_argument("--states", type=int, default=3)
    args = parser.parse_args()
    loss, *means = timed(
        f"training step, {args.steps} observations", program(args.steps, args.states)
    )
    print(f"loss after 3 updates: {loss:.6f}; means after 4:", *(f"{mean:.5f}" for mean in means))


def program(steps: int, states: int = 3) -> Callable[[], np.ndarray]:
    """Prepares the fit of a chain of hidden states, each of which emits numbers around its mean.

    Args:
      steps: Number of observations.
      states: Number of hidden states.

    Returns:
      A function that makes one update and returns the negative log-likelihood per observation
      before the update, followed by the means after it.
    """
    truth = tf.cast(tf.range(steps) // 50 % states, tf.float32)
    observed = 2 * truth + tf.random.stateless_normal([steps], [1, 2])
    means = tf.Variable(tf.linspace(-1.0, 1.0, states))
    transition = tf.Variable(3 * tf.eye(states))  # logits

    @tf.function
    def train() -> tf.Tensor:
        with tf.GradientTape() as tape:
            model = tfd.HiddenMarkovModel(
                tfd.Categorical(logits=tf.zeros(states)),
                tfd.Categorical(logits=transition),
                tfd.Normal(means, 1.0),
                num_steps=steps,
            )
            loss = -model.log_prob(observed) / steps
        descend(tape, loss, [means, transition], rate=1.0)
        return tf.concat([[loss], means], 0)

    return lambda: train().numpy()


if __name__ == "__main__":
    main()
