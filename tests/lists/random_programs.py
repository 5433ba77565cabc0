"""Random programs over tf.TensorArray that give the same results eagerly and in a tf.function."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

ROWS, WIDTH = 5, 2
_Step = Callable[["_State"], None]


class _State:
    """The values in a program: its input, one array, one row vector, and terms of its result."""

    def __init__(self, x: tf.Tensor) -> None:
        self.x = x
        self.array = tf.TensorArray(
            tf.float64, ROWS, dynamic_size=False, clear_after_read=False, element_shape=[WIDTH]
        ).unstack(tf.tanh(x))
        self.row = x[0]
        self.seen = [tf.reduce_sum(x[1])]


def _write(random: np.random.Generator) -> _Step:
    i, k = random.integers(ROWS), random.integers(ROWS)

    def step(s: _State) -> None:
        s.array = s.array.write(int(i), tf.sin(s.row + s.x[int(k)]))

    return step


def _read(random: np.random.Generator) -> _Step:
    i = random.integers(ROWS)

    def step(s: _State) -> None:
        s.row = tf.tanh(s.row * 0.7 + s.array.read(int(i)))

    return step


def _indices(random: np.random.Generator) -> tuple[list[int], bool]:
    return random.integers(ROWS, size=random.integers(1, 6)).tolist(), bool(random.integers(2))


def _as_index(s: _State, indices: list[int], constant: bool) -> tf.Tensor:
    """The indices as a constant, or as a value that is not known before the program runs."""
    if constant:
        return tf.constant(indices)
    return tf.constant(indices) + tf.cast(tf.reduce_sum(s.x) * 0.0, tf.int32)


def _gather(random: np.random.Generator) -> _Step:
    indices, constant = _indices(random)

    def step(s: _State) -> None:
        rows = s.array.gather(_as_index(s, indices, constant))
        scale = tf.range(1.0, len(indices) + 1.0, dtype=tf.float64)[:, None]
        s.row = tf.tanh(s.row + tf.reduce_sum(rows * scale, 0))

    return step


def _scatter(random: np.random.Generator) -> _Step:
    indices, constant = _indices(random)

    def step(s: _State) -> None:
        rows = tf.sin(s.x[: len(indices)] + s.row)
        s.array = s.array.scatter(_as_index(s, indices, constant), rows)

    return step


def _stack(random: np.random.Generator) -> _Step:
    restack = bool(random.integers(2))

    def step(s: _State) -> None:
        whole = s.array.stack()
        s.seen.append(tf.reduce_sum(whole * whole * tf.cos(s.x)))
        if restack:
            s.array = s.array.unstack(whole * 0.9 + s.row)

    return step


def _loop(random: np.random.Generator) -> _Step:
    inner = [random.choice(np.array(_IN_A_LOOP))(random) for _ in range(2)]
    turns = int(random.integers(1, 4))

    def step(s: _State) -> None:
        def body(i, row, array):
            t = _State.__new__(_State)
            t.x, t.row, t.array, t.seen = s.x + tf.cast(i, tf.float64), row, array, []
            for each in inner:
                each(t)
            j = tf.minimum(i, ROWS - 1)
            t.row = tf.tanh(t.row + t.array.read(j))
            return i + 1, t.row, t.array.write(j, t.row)

        start = (tf.constant(0), s.row, s.array)
        _, s.row, s.array = tf.while_loop(lambda i, *_: i < turns, body, start)

    return step


def _cond(random: np.random.Generator) -> _Step:
    i = int(random.integers(ROWS))

    def step(s: _State) -> None:
        positive = tf.reduce_sum(s.x[i]) > 0
        s.row = tf.cond(positive, lambda: tf.tanh(s.array.read(i) + s.row), lambda: s.row * 0.5)

    return step


_IN_A_LOOP = (_write, _read, _gather, _scatter, _cond, _loop)
_STEPS = (*_IN_A_LOOP, _stack)


@functools.cache
def random_program(seed: int) -> Callable[[tf.Tensor], tf.Tensor]:
    """Program number `seed`: maps a [5, 2] float64 to a scalar, smoothly almost everywhere."""
    random = np.random.default_rng(seed)
    steps = [_STEPS[k](random) for k in random.integers(len(_STEPS), size=random.integers(2, 6))]

    def program(x: tf.Tensor) -> tf.Tensor:
        s = _State(x)
        for step in steps:
            step(s)
        whole = s.array.stack()
        return tf.add_n(s.seen) + tf.reduce_sum(s.row**2) + tf.reduce_sum(whole * tf.sin(whole))

    return program
