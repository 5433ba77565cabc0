"""Loops on sixteen cores, shown on two: `python -m benchmarks.cores [--quick] [case ...]`.

The kernels of these loops sleep (`cc/testing/nap_op.cc`). A nap needs no core, so the executor runs
as many of them side by side as it has threads. TensorFlow is made to find sixteen cores
(`cc/testing/sixteen_cores.cc`), because this library assumes no more threads than there are cores.
`LD_PRELOAD= python -m benchmarks.cores` leaves it the real ones.

The calls are timed one by one (`benchmarks.series`). What is measured is the price of finding out
where a loop should run, and whether the answer is right. The name of a case says what an iteration
is: `16x500us` has 16 independent naps of 500 us, `2x4x100us` two chains of four naps, and
`2_layers_of_2x100us` two layers, each of which adds up two naps that read its last sum. A nap is
followed by a tanh of four floats.

The two libraries are built with the C++ tests: `cmake --build build --target nap_op sixteen_cores`.
TAG_BUILD names another build folder.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from benchmarks import harness, series
from benchmarks.case import Case, Prepared
from benchmarks.traced import LoopVars, gradient_of, loop, prepared

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_ASKED, _SECOND_ASKED = 0.95, 0.85
_THREADS = 16  # of the executor, if a case does not name another number
_FLOATS = 4

Sum = Callable[[tf.Tensor], tf.Tensor]


@dataclasses.dataclass(frozen=True)
class Naps:
    """What an iteration computes, and how the loop is run.

    Attributes:
      width: Number of chains of naps that may run side by side.
      us: Length of a nap in microseconds.
      depth: Number of naps in a chain.
      layers: Number of sums, each of its own `width` chains, which read it; 0: each chain reads its
        own last value.
      gradient: Whether the gradient of the loop is computed; the gradient of a nap is a nap.
      threads: Number of threads of the executor.
      callers: Number of threads that call the function at the same time.
    """

    width: int
    us: int
    depth: int = 1
    layers: int = 0
    gradient: bool = False
    threads: int = _THREADS
    callers: int = 1

    @property
    def name(self) -> str:
        chains = "x".join(map(str, [self.width] + [self.depth] * (self.depth > 1)))
        layers = f"{self.layers}_layers_of_" * (self.layers > 0)
        return "_".join([f"{layers}{chains}x{self.us}us", *self._ways()])

    @property
    def what(self) -> str:
        naps = f"{self.us} us" if self.depth == 1 else f"{self.depth} naps of {self.us} us"
        plural = "s" * (self.width > 1)
        chains = f"{self.width} {'nap' if self.depth == 1 else 'chain'}{plural} of {naps}"
        layers = f"{self.layers} layers of " * (self.layers > 0)
        return ", ".join([f"{layers}{chains}", *self._ways(" ")])

    def _ways(self, space: str = "") -> list[str]:
        ways = ["gradient"] * self.gradient
        ways += [f"{self.threads}{space}threads"] * (self.threads != _THREADS)
        return ways + [f"{self.callers}{space}callers"] * (self.callers > 1)

    def function(self, n: int) -> Sum:
        """A function of a vector: the last values of a loop of n iterations, or their gradient."""

        def run(x: tf.Tensor) -> tf.Tensor:
            start = [x * float(k + 1) for k in range(self.layers or self.width)]
            return tf.stack(loop(n, lambda _, *values: self._iteration(values), *start))

        return gradient_of(lambda x: tf.reduce_sum(run(x))) if self.gradient else run

    def _iteration(self, values: LoopVars) -> LoopVars:
        if not self.layers:
            return tuple(map(self._chain, values))
        # Naps of the same value would be one nap.
        scales = [1.0 / (k + 1) for k in range(self.width)]
        return tuple(tf.add_n([self._chain(value * k) for k in scales]) for value in values)

    def _chain(self, value: tf.Tensor) -> tf.Tensor:
        for _ in range(self.depth):
            value = tf.tanh(nap(value, self.us))
        return value


def library(name: str) -> pathlib.Path:
    """The path of a shared library that CMake builds for this benchmark.

    Args:
      name: The name of its target.

    Raises:
      FileNotFoundError: It was not built.
    """
    folder = pathlib.Path(os.environ.get("TAG_BUILD", _ROOT / "build")).resolve()
    path = folder / f"lib{name}.so"
    if not path.exists():
        command = f"cmake --build {folder} --target {name}"
        raise FileNotFoundError(f"{path} does not exist; `{command}` builds it (-DTAG_TESTS=ON)")
    return path


def nap(value: tf.Tensor, us: int) -> tf.Tensor:
    """`value`, after `us` microseconds; its gradient takes as long."""
    return _ops().nap(value, us=us)


@functools.cache
def _ops() -> Any:
    @tf.RegisterGradient("Nap")
    def _gradient(op: tf.Operation, gradient: tf.Tensor) -> tf.Tensor:
        return nap(gradient, op.get_attr("us"))

    return tf.load_op_library(str(library("nap_op")))


def _case(naps: Naps, *sizes: int) -> Case:
    def build(n: int) -> Prepared:
        tf.config.threading.set_inter_op_parallelism_threads(naps.threads)
        made = prepared(naps.function(n), tf.linspace(0.1, 1.0, _FLOATS))
        times = functools.partial(series.times, made.result, naps.callers)
        return dataclasses.replace(made, series=times)

    return Case(naps.name, naps.what, sizes, build, _ASKED, second_target=_SECOND_ASKED)


CASES = (
    # Nothing to gain: one nap after the other.
    _case(Naps(1, 500), 12, 20),
    _case(Naps(1, 50), 2_000),
    _case(Naps(1, 100, depth=4), 20, 200),
    _case(Naps(1, 100, depth=4, gradient=True), 20),
    _case(Naps(1, 1_000, depth=4), 12),
    # Independent naps.
    _case(Naps(2, 50), 20, 2_000),
    _case(Naps(2, 100), 20, 200),
    _case(Naps(2, 2_000), 12),
    _case(Naps(4, 200), 20, 200),
    _case(Naps(8, 100), 20, 200),
    _case(Naps(8, 500), 20),
    _case(Naps(8, 1_000), 12),
    _case(Naps(16, 50), 20, 2_000),
    _case(Naps(16, 100), 20),
    _case(Naps(16, 200), 200),
    _case(Naps(16, 500), 12, 20),
    _case(Naps(16, 2_000), 12),
    # Chains, and layers.
    _case(Naps(2, 100, depth=4), 20, 200),
    _case(Naps(4, 200, depth=4), 20),
    _case(Naps(2, 100, layers=2), 20, 200),
    _case(Naps(2, 500, depth=2, layers=2), 12),
    _case(Naps(1, 50, layers=2), 2_000),
    # Gradients.
    _case(Naps(2, 100, gradient=True), 20, 200),
    _case(Naps(2, 50, gradient=True), 2_000),
    _case(Naps(16, 500, gradient=True), 20),
    _case(Naps(8, 1_000, gradient=True), 12),
    _case(Naps(2, 200, depth=4, gradient=True), 20),
    _case(Naps(2, 200, layers=2, gradient=True), 20),
    # Other numbers of threads and callers.
    _case(Naps(4, 100, threads=2), 200),
    _case(Naps(16, 500, threads=2), 20),
    _case(Naps(16, 500, threads=4), 20),
    _case(Naps(16, 500, threads=64), 20),
    _case(Naps(2, 200, gradient=True, threads=2), 20),
    _case(Naps(1, 100, depth=4, callers=4), 20),
    _case(Naps(2, 50, callers=4), 2_000),
    _case(Naps(16, 500, callers=4), 20),
    _case(Naps(8, 1_000, threads=64, callers=4), 12),
    _case(Naps(4, 500, gradient=True, threads=4, callers=4), 12),
)


if __name__ == "__main__":
    os.environ.setdefault("LD_PRELOAD", str(library("sixteen_cores")))
    sys.exit(harness.main("benchmarks.cores", CASES))
