"""Trains a tagger: a linear layer and a linear-chain conditional random field (CRF).

    python examples/crf_tagger.py                            # on stock TensorFlow
    python -m tensor_array_grad examples/crf_tagger.py       # with the library

The forward algorithm, which sums over all sequences of tags, is a loop that indexes its input:
`emissions[:, i]`.
"""

import argparse
from collections.abc import Callable

import tensorflow as tf
from common import descend, timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=2000, help="words per sentence")
    parser.add_argument("--batch", type=int, default=4, help="number of sentences")
    parser.add_argument("--tags", type=int, default=5, help="number of different tags")
    args = parser.parse_args()
    loss = timed(f"training step, {args.steps} words", program(args.steps, args.batch, args.tags))
    print(f"loss after 3 updates: {loss:.6f}")


def program(steps: int, batch: int = 4, tags: int = 5) -> Callable[[], float]:
    """Prepares the training on random sentences. Each word is a vector of 16 numbers.

    Args:
      steps: Words per sentence.
      batch: Number of sentences.
      tags: Number of different tags.

    Returns:
      A function that makes one update and returns the loss before the update: the mean negative
      log-likelihood per word.
    """
    words = tf.random.stateless_normal([batch, steps, 16], [1, 2])
    # The right tag of a word depends on this word and on the word before it.
    hidden = tf.matmul(words, tf.random.stateless_normal([16, tags], [3, 4]))
    right = tf.argmax(hidden + tf.roll(hidden, 1, axis=1), axis=2)
    weights = tf.Variable(tf.random.stateless_normal([16, tags], [5, 6], stddev=0.1))
    transitions = tf.Variable(tf.zeros([tags, tags]))

    @tf.function
    def train() -> tf.Tensor:
        with tf.GradientTape() as tape:
            emissions = tf.matmul(words, weights)
            score = path_score(emissions, transitions, right)
            loss = tf.reduce_mean(log_partition(emissions, transitions) - score) / steps
        descend(tape, loss, [weights, transitions], rate=1.0)
        return loss

    return lambda: float(train())


def path_score(emissions: tf.Tensor, transitions: tf.Tensor, tags: tf.Tensor) -> tf.Tensor:
    """The unnormalised log-probability of a sequence of tags.

    Args:
      emissions: [batch, steps, tags], the score of each tag for each word.
      transitions: [tags, tags], the score of going from one tag to another.
      tags: [batch, steps], integers.

    Returns:
      [batch].
    """
    emitted = tf.gather(emissions, tags, batch_dims=2)
    passed = tf.gather_nd(transitions, tf.stack([tags[:, :-1], tags[:, 1:]], axis=2))
    return tf.reduce_sum(emitted, axis=1) + tf.reduce_sum(passed, axis=1)


def log_partition(emissions: tf.Tensor, transitions: tf.Tensor) -> tf.Tensor:
    """The logarithm of the sum of exp(path_score) over all sequences of tags, [batch]."""
    alpha = emissions[:, 0]
    for i in tf.range(1, emissions.shape[1]):
        alpha = emissions[:, i] + tf.reduce_logsumexp(alpha[:, :, tf.newaxis] + transitions, axis=1)
    return tf.reduce_logsumexp(alpha, axis=1)


if __name__ == "__main__":
    main()
