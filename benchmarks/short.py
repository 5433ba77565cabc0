"""Short loops: `python -m benchmarks.short [--quick] [case ...]`.

Such loops take little time, and none must become slower. The cases are loops of 1 to 50 steps, and
programs whose loops are short. Each is measured in later calls and, as `NAME_first`, in its first
call (`benchmarks.first_call`). "asked" is 0.97 for later calls, in wall time and in processor time,
and 0.91 for first calls. A run of a light case is several calls, and its time is that of one call.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from benchmarks import harness, ops
from benchmarks.case import Case, Prepared
from benchmarks.first_call import ASKED, trained, untraced
from benchmarks.traced import (
    LoopVars,
    Program,
    gradient_of,
    keras_gradients,
    loop,
    prepared,
    rows,
    values,
)

_LATER_ASKED = 0.97
_STEPS = (1, 3, 10, 50)
_PIXELS, _FRAMES_BATCH = 24, 4  # of the videos
_CAPSULES, _CLASSES, _POSE = 288, 10, 16  # and floats in the pose of a class
_IMAGE, _CROPPED = (64, 64, 3), (48, 48, 3)

Build = Callable[[int], Prepared]
Make = Callable[[int], Program]


def _cheap(n: int) -> Program:
    """Ops of a scalar and of a small vector."""

    def step(i: tf.Tensor, total: tf.Tensor, h: tf.Tensor) -> LoopVars:
        h = tf.tanh(h * 0.9 + 0.1)
        share = tf.cast(i + 1, tf.float32) / float(n)
        return tf.where(total > 1.0, total * 0.5, total + share * h[0]), h

    def run(x: tf.Tensor) -> tf.Tensor:
        total, h = loop(n, step, tf.constant(0.0), x)
        return tf.concat([total[tf.newaxis], h], 0)

    return run, (rows(1, 8)[0],)


def _of_op(name: str, shape: tuple[int, ...], twice: bool) -> Make:
    op = dataclasses.replace(ops.OPS[name], shape=shape)
    return lambda n: ops.program(op, n, twice)


def _squashed(s: tf.Tensor) -> tf.Tensor:
    square = tf.reduce_sum(tf.square(s), -1, keepdims=True)
    return s * square / (1.0 + square) / tf.sqrt(square + 1e-7)


def _routing(n: int) -> Program:
    """The gradient of n iterations of routing by agreement between capsules."""

    def loss(votes: tf.Tensor) -> tf.Tensor:
        def step(_: tf.Tensor, logits: tf.Tensor, poses: tf.Tensor) -> LoopVars:
            weights = tf.nn.softmax(logits, 2)
            poses = _squashed(tf.reduce_sum(weights * votes, 1, keepdims=True))
            return logits + tf.reduce_sum(votes * poses, -1, keepdims=True), poses

        logits = tf.zeros_like(votes[..., :1])
        return tf.reduce_sum(tf.square(loop(n, step, logits, votes[:, :1])[1]))

    votes = tf.reshape(rows(4 * _CAPSULES, _CLASSES * _POSE), [4, _CAPSULES, _CLASSES, _POSE])
    return gradient_of(loss), (votes,)


def _images(n: int) -> tf.Tensor:
    return tf.reshape(tf.sigmoid(rows(n, int(np.prod(_IMAGE)))), [n, *_IMAGE])


def _mapped(n: int) -> Program:
    def augmented(image: tf.Tensor) -> tf.Tensor:
        image = tf.image.flip_left_right(image)
        image = tf.image.adjust_contrast(tf.image.adjust_brightness(image, 0.1), 1.3)
        return tf.image.resize(image, [32, 32])

    return lambda images: tf.map_fn(augmented, images), (_images(n),)


def _cropped(n: int) -> Program:
    """Random crops by tf.vectorized_map, which draws their places in loops."""

    def crop(element: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        return tf.image.stateless_random_crop(element[0], _CROPPED, element[1])

    seeds = tf.constant(np.arange(2 * n, dtype=np.int32).reshape(n, 2))
    return lambda images: tf.vectorized_map(crop, (images, seeds)), (_images(n),)


def _video(filters: int) -> Build:
    """Training of two ConvLSTM2D, the second of which returns its last state."""

    def build(frames: int) -> Prepared:
        shape = (_PIXELS, _PIXELS)
        x = values(_FRAMES_BATCH * frames, _PIXELS**2).reshape(_FRAMES_BATCH, frames, *shape, 1)
        y = values(_FRAMES_BATCH, _PIXELS**2 * filters).reshape(_FRAMES_BATCH, *shape, filters)
        return trained(
            tf.keras,
            lambda layers: [
                layers.ConvLSTM2D(filters, 3, padding="same", return_sequences=sequences)
                for sequences in (True, False)
            ],
            x,
            y,
        )

    return build


def _repeated(once: Prepared, calls: int) -> Prepared:
    """`once` with runs of several calls."""
    run = lambda: statistics.fmean(once.run() for _ in range(calls))  # noqa: E731
    return dataclasses.replace(once, run=run)


def _pair(name: str, what: str, sizes: tuple[int, ...], later: Build, first: Build) -> list[Case]:
    return [
        Case(name, what, sizes, later, _LATER_ASKED, cpu_target=_LATER_ASKED),
        Case(f"{name}_first", f"{what}, first call", sizes, first, ASKED, first_call=True),
    ]


def _of(
    name: str, what: str, make: Make, sizes: tuple[int, ...] = _STEPS, steps: int = 0
) -> list[Case]:
    """The two cases of a program; a run has several calls, `steps` iterations in all."""

    def later(n: int) -> Prepared:
        function, arguments = make(n)
        return _repeated(prepared(function, *arguments), max(1, steps // n))

    def first(n: int) -> Prepared:
        function, arguments = make(n)
        return untraced(function, *arguments)

    return _pair(name, what, sizes, later, first)


def _videos(filters: int) -> list[Case]:
    what = f"two Keras ConvLSTM2D of {filters} filters, train_on_batch"
    return _pair(f"videos_{filters}", what, (12,), _video(filters), _video(filters))


CASES = (
    *_of("cheap", "ops of a scalar and of 8 floats", _cheap, steps=200),
    *_of("lstm", "Keras LSTM, 64 x 128 units", keras_gradients("LSTM", 128, 64), steps=20),
    *_of("products", "two products of 256 x 256", _of_op("matmul_256", (256, 256), True), steps=20),
    *_of(
        "convolution", "a small convolution", _of_op("conv_small", (1, 16, 16, 4), False), steps=100
    ),
    *_videos(4),
    *_videos(16),
    *_of("routing", "capsules, routing by agreement, gradient", _routing, (3,), steps=6),
    *_of("images", "tf.map_fn over images, 64 x 64 x 3", _mapped, (32,), steps=64),
    *_of("crops", "random crops of images by tf.vectorized_map", _cropped, (32,), steps=320),
)


if __name__ == "__main__":
    sys.exit(harness.main("benchmarks.short", CASES))
