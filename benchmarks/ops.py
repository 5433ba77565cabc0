"""One op in a loop: `python -m benchmarks.ops [--quick] [case ...]`.

Most of the time is spent in kernels here, so this library can save little, and must not cost
anything. Each op is measured once per iteration, and twice side by side (`_twice`): TensorFlow's
executor may then run both at the same time. "asked" is 0.95, as for the loops with much work in
`benchmarks.loops`.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks import harness
from benchmarks.case import Case, Prepared
from benchmarks.traced import Program, loop, prepared

Apply = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True)
class Op:
    """An op to be measured.

    Attributes:
      shape: The shape of its operand and of its result.
      steps: Number of iterations.
      make: Makes the op: a function of a tensor to a tensor of the same shape and dtype, whose
        values stay in a range.
      dtype: The dtype of both.
    """

    shape: tuple[int, ...]
    steps: int
    make: Callable[[], Apply]
    dtype: tf.DType = tf.float32


def _normal(*shape: int) -> tf.Tensor:
    return tf.constant(np.random.default_rng(3).standard_normal(shape, np.float32))


def _convolution(size: int, channels: int) -> Callable[[], Apply]:
    def make() -> Apply:
        filters = _normal(size, size, channels, channels) / (size * channels**0.5)
        return lambda h: tf.tanh(tf.nn.conv2d(h, filters, 1, "SAME"))

    return make


def _depthwise() -> Apply:
    filters = _normal(3, 3, 16, 1) / 3.0
    return lambda h: tf.tanh(tf.nn.depthwise_conv2d(h, filters, [1, 1, 1, 1], "SAME"))


def _batch_norm() -> Apply:
    scale, offset = tf.ones([16]), tf.zeros([16])
    return lambda h: tf.compat.v1.nn.fused_batch_norm(h, scale, offset)[0]


def _sparse() -> Apply:
    dense = np.random.default_rng(5).standard_normal((400, 400)).astype(np.float32)
    matrix = tf.sparse.from_dense(np.where(abs(dense) > 2.0, dense / 8.0, 0.0))
    return lambda h: tf.tanh(tf.sparse.sparse_dense_matmul(matrix, h))


def _matmul(width: int, dtype: tf.DType = tf.float32) -> Callable[[], Apply]:
    def make() -> Apply:
        weights = tf.cast(_normal(width, width) / width**0.5, dtype)
        return lambda h: tf.tanh(h @ weights)

    return make


def _einsum() -> Apply:
    weights = _normal(8, 32, 32) / 6.0
    return lambda h: tf.tanh(tf.einsum("bij,bjk->bik", h, weights))


def _definite(h: Any) -> Any:
    """A positive definite matrix near `h`."""
    return h @ tf.transpose(h) * 0.01 + tf.eye(h.shape[0])


def _gather() -> Apply:
    order = tf.constant(np.random.default_rng(6).permutation(20_000))
    return lambda h: tf.gather(h, order)


def _segments() -> Apply:
    segments = tf.constant(np.arange(20_000) // 10)
    return lambda h: h - tf.repeat(tf.math.segment_mean(h, segments), 10, axis=0) * 0.5


OPS: dict[str, Op] = {
    "conv": Op((8, 32, 32, 16), 80, _convolution(3, 16)),
    "conv_small": Op((1, 16, 16, 4), 1_600, _convolution(3, 4)),
    "conv_1x1": Op((8, 32, 32, 32), 120, _convolution(1, 32)),
    "depthwise": Op((8, 32, 32, 16), 160, _depthwise),
    "max_pool": Op((8, 32, 32, 16), 200, lambda: lambda h: tf.nn.max_pool2d(h, 3, 1, "SAME") * 0.5),
    "avg_pool": Op((8, 32, 32, 16), 240, lambda: lambda h: tf.nn.avg_pool2d(h, 3, 1, "SAME")),
    "batch_norm": Op((8, 32, 32, 16), 180, _batch_norm),
    "resize": Op(
        (4, 64, 64, 3),
        480,
        lambda: lambda h: tf.image.resize(tf.image.resize(h, [32, 32]), [64, 64]),
    ),
    "matmul_32": Op((32, 32), 4_000, _matmul(32)),
    "matmul_256": Op((64, 256), 400, _matmul(256)),
    "matmul_half": Op((64, 128), 900, _matmul(128, tf.float16), tf.float16),
    "matmul_bfloat16": Op((64, 128), 1_000, _matmul(128, tf.bfloat16), tf.bfloat16),
    "einsum": Op((8, 16, 32), 400, _einsum),
    "sparse": Op((400, 8), 1_000, _sparse),
    "elementwise": Op((1_000_000,), 20, lambda: lambda h: tf.sin(h * 1.1)),
    "elementwise_small": Op((20_000,), 800, lambda: lambda h: tf.sin(h * 1.1)),
    "elementwise_half": Op((100_000,), 240, lambda: lambda h: tf.sin(h * 1.5), tf.float16),
    "softmax": Op((128, 1_000), 240, lambda: lambda h: tf.nn.softmax(h * 3.0)),
    "cumsum": Op((64, 1_000), 100, lambda: lambda h: tf.tanh(tf.cumsum(h, axis=1))),
    "reduce": Op((64, 1_000), 600, lambda: lambda h: h * 0.9 - tf.reduce_mean(h, 1, keepdims=True)),
    "transpose": Op((300, 300), 200, lambda: lambda h: tf.transpose(h) * 0.9 + 0.1),
    "fft": Op(
        (64, 256), 500, lambda: lambda h: tf.math.real(tf.signal.fft(tf.complex(h, h))) * 0.05
    ),
    "sort": Op((16, 1_000), 200, lambda: lambda h: tf.sort(-h)),
    "top_k": Op((16, 1_000), 120, lambda: lambda h: tf.concat([tf.math.top_k(-h, 500)[0]] * 2, 1)),
    "gather": Op((20_000,), 400, _gather),
    "segments": Op((20_000,), 500, _segments),
    "cholesky": Op((64, 64), 1_000, lambda: lambda h: tf.linalg.cholesky(_definite(h))),
    "eigh": Op((48, 48), 400, lambda: lambda h: tf.linalg.eigh(_definite(h))[1]),
    "solve": Op((64, 64), 400, lambda: lambda h: tf.tanh(tf.linalg.solve(_definite(h), h))),
    "strings": Op(
        (500,),
        100,
        lambda: lambda h: tf.strings.substr(tf.strings.regex_replace(h + "a1", "a", "b"), -40, 40),
        tf.string,
    ),
    "string_numbers": Op(
        (500,),
        500,
        lambda: lambda h: tf.strings.as_string(tf.strings.to_number(h) * 0.9, precision=4),
        tf.string,
    ),
}


def _start(op: Op) -> tf.Tensor:
    start = _normal(*op.shape)
    if op.dtype != tf.string:
        return tf.cast(start, op.dtype)
    return tf.strings.as_string(start, precision=4, width=40, fill=" ")


def _numbers(result: tf.Tensor) -> tf.Tensor:
    """`result`, or a number for each of its strings."""
    return tf.strings.to_hash_bucket_fast(result, 1 << 20) if result.dtype == tf.string else result


def program(op: Op, n: int, twice: bool) -> Program:
    """A loop of n iterations with `op`, or with two of them side by side."""
    apply = op.make()

    def run(start: tf.Tensor) -> tf.Tensor:
        if not twice:
            return _numbers(loop(n, lambda _, h: (apply(h),), start)[0])
        first, second = loop(n, lambda _, a, b: (apply(a), apply(b)), start, start[::-1])
        return tf.stack([_numbers(first), _numbers(second)])

    return run, (_start(op),)


def _case(name: str, twice: bool) -> Case:
    op = OPS[name]

    def build(n: int) -> Prepared:
        function, arguments = program(op, n, twice)
        return prepared(function, *arguments)

    what = f"{name.replace('_', ' ')}, {' x '.join(map(str, op.shape))}"
    return Case(
        f"{name}_twice" if twice else name,
        f"{what}, twice" if twice else what,
        (op.steps,),
        build,
        0.95,
        uses_arrays=False,
    )


CASES = tuple(_case(name, twice) for name in OPS for twice in (False, True))


if __name__ == "__main__":
    sys.exit(harness.main("benchmarks.ops", CASES))
