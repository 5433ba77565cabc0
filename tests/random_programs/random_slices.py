"""Compares the gradients of random loops that index a tensor, on stock and with the library.

    python -m tests.random_programs.random_slices --programs 500 --seed 0

A program is one loop whose body makes one to three random reads of one or two tensors of rank one
to four. A read is an index with integers, ranges, negative strides, ellipses and new axes, which
may depend on the iteration; `tf.slice`; `tf.gather` with axes and batches; or `tf.gather_nd`. Some
reads are in a branch or in an inner loop. Gradients are computed by one of the methods of
`slice_programs`, or for a variable that is read. They must be equal in all bits, except for the
sign of zeros.
"""

from __future__ import annotations

import collections
import dataclasses
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tests.loops import slice_programs
from tests.random_programs.random_loops import same_gradient
from tests.support import campaign, kernel_runner

_STEPS = 5
_SIZES = (1, 2, 3, 5)  # of a dimension; some indices are out of range
_RUN = "tests.random_programs.random_slices:run_seed"
_TIMEOUT_S = 120.0
_PROGRAMS_PER_PROCESS = 150

Read = Callable[[Any, Any], Any]  # of a tensor, in an iteration


@dataclasses.dataclass(frozen=True)
class Program:
    """A program that `run_seed` runs.

    Attributes:
      seed: Its number.
      text: For each read, the number of the tensor and an expression of that tensor, `x`, and `i`.
      dtype: The dtype of the tensors.
      method: How the gradients are computed: one of `slice_programs.METHODS`, or "variable" for
        those of a variable.
      shapes: The shapes of the tensors.
      places: For each read, where it is: "body", "branch", "other", "inner".
    """

    seed: int
    text: tuple[str, ...]
    dtype: str
    method: str
    shapes: tuple[tuple[int, ...], ...]
    places: tuple[str, ...]


class _Draw:
    """The random choices of a program."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 7])

    def pick(self, choices: Any) -> Any:
        return choices[int(self._rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self._rng.random() < probability)

    def shape(self) -> tuple[int, ...]:
        return tuple(self.pick(_SIZES) for _ in range(int(self._rng.integers(1, 5))))

    def index(self, size: int) -> str:
        """An integer index, nearly always one within a dimension of that size."""
        if self.chance(0.02):
            return f"i + {size}"
        return self.pick((f"i % {size}", f"-1 - i % {size}", str(size - 1), f"(i * 2) % {size}"))

    def range_of(self, size: int) -> str:
        bound = lambda: self.pick(("", "i", "-i", f"i % {size}", "1", "-1"))  # noqa: E731
        return f"{bound()}:{bound()}:{self.pick(('', '1', '2', '-1', '-2'))}"

    def subscript(self, shape: tuple[int, ...]) -> str:
        parts, ellipsis = [], False
        for size in shape:
            if not ellipsis and self.chance(0.1):
                parts.append("...")
                ellipsis = True
            if self.chance(0.1):
                parts.append("tf.newaxis")
            if ellipsis and self.chance(0.5):
                continue
            parts.append(self.index(size) if self.chance(0.5) else self.range_of(size))
            if self.chance(0.15):
                break
        return f"x[{', '.join(parts)}]"

    def indices(self, size: int) -> str:
        one = lambda: self.index(size).replace("-1 - i", "i")  # noqa: E731
        if self.chance(0.4):
            return one()
        if self.chance(0.7):
            return f"[{', '.join(one() for _ in range(self.pick((1, 2, 3))))}]"
        return f"[[{one()}, {one()}], [{one()}, {one()}]]"

    def read(self, shape: tuple[int, ...]) -> str:
        """An expression of the iteration `i` and of `x`, a tensor of that shape."""
        kind = self.pick(
            ("subscript", "subscript", "slice", "gather", "gather_axis", "nd", "batch")
        )
        if kind == "slice":
            begin = [f"i % {size}" for size in shape]
            size = [self.pick(("1", "-1")) if size > 1 else "1" for size in shape]
            return f"tf.slice(x, [{', '.join(begin)}], [{', '.join(size)}])"
        if kind == "gather":
            return f"tf.gather(x, {self.indices(shape[0])})"
        if kind == "gather_axis":
            axis = int(self._rng.integers(len(shape)))
            return f"tf.gather(x, {self.indices(shape[axis])}, axis={axis})"
        if kind == "nd":
            depth = int(self._rng.integers(1, len(shape) + 1))
            one = lambda: ", ".join(f"(i + {self.pick((0, 1))}) % {n}" for n in shape[:depth])  # noqa: E731
            return f"tf.gather_nd(x, [[{one()}], [{one()}]])"
        if kind == "batch" and len(shape) > 1:
            rows = ", ".join(f"[i % {shape[1]}]" for _ in range(shape[0]))
            return f"tf.gather(x, [{rows}], axis=1, batch_dims=1)"
        return self.subscript(shape)


def random_program(seed: int) -> Program:
    """The program of that number."""
    draw = _Draw(seed)
    shapes = tuple(draw.shape() for _ in range(draw.pick((1, 1, 2))))
    reads = [draw.pick(range(len(shapes))) for _ in range(draw.pick((1, 1, 2, 3)))]
    return Program(
        seed=seed,
        text=tuple(f"{k}: {draw.read(shapes[k])}" for k in reads),
        dtype=draw.pick(slice_programs.DTYPES),
        method=draw.pick([*slice_programs.METHODS, "variable"]),
        shapes=shapes,
        places=tuple(draw.pick(("body", "body", "branch", "other", "inner")) for _ in reads),
    )


def _value(read: str, tensors: list[Any], i: Any) -> Any:
    """A scalar that depends on each value that is read."""
    which, expression = read.split(": ", 1)
    found = eval(expression, {"tf": tf, "x": tensors[int(which)], "i": i})
    weights = tf.cast(tf.cos(tf.range(tf.size(found), dtype=tf.float32)), found.dtype)
    return tf.reduce_sum(tf.reshape(found, [-1]) * weights * tf.cast(0.3, found.dtype))


def _placed(place: str, compute: Callable[[Any], Any], i: Any, dtype: str) -> Any:
    nothing = lambda: tf.cast(0.7, dtype)  # noqa: E731
    if place == "branch":
        return tf.cond(tf.equal(i % 2, 0), lambda: compute(i), nothing)
    if place == "other":
        return tf.cond(tf.equal(i % 3, 0), nothing, lambda: compute(i) * compute(i))
    if place == "inner":
        step = lambda k, total: (k + 1, total * tf.cast(0.5, dtype) + compute(k + i))  # noqa: E731
        return tf.while_loop(lambda k, _: k < 2, step, (tf.constant(0), tf.cast(0.1, dtype)))[1]
    return compute(i)


def loop_of(program: Program) -> Callable[[Any], Any]:
    """The loop, as a function of one vector that contains all tensors."""
    sizes = [int(np.prod(shape)) for shape in program.shapes]

    def loop(flat: Any) -> Any:
        parts = tf.split(flat, sizes)
        tensors = [tf.reshape(p, s) for p, s in zip(parts, program.shapes, strict=True)]
        if program.method.endswith("unknown_shape"):
            unknown = tf.compat.v1.placeholder_with_default
            tensors = [unknown(tensor, [None] * tensor.shape.rank) for tensor in tensors]

        def body(i: Any, h: Any) -> tuple[Any, Any]:
            for read, place in zip(program.text, program.places, strict=True):
                compute = lambda i, read=read: _value(read, tensors, i)  # noqa: E731
                h = h * tf.cast(0.9, h.dtype) + _placed(place, compute, i, program.dtype)
            return i + 1, h

        start = (tf.constant(0), tf.zeros([], program.dtype))
        return tf.while_loop(lambda i, _: i < _STEPS, body, start)[1]

    return loop


def run_seed(seed: int) -> list[np.ndarray] | str:
    """The gradients of that program, or the class of its error."""
    program = random_program(seed)
    values = np.random.default_rng(seed).normal(size=sum(map(np.prod, program.shapes)))
    x = tf.cast(values, program.dtype).numpy()
    try:
        if program.method == "variable":
            return _of_variable(loop_of(program), x)
        return slice_programs.gradients_of(loop_of(program), x, program.method)
    except (tf.errors.OpError, ValueError) as error:
        return type(error).__name__


def _of_variable(loop: Callable[[Any], Any], x: np.ndarray) -> list[np.ndarray]:
    variable = tf.Variable(x)

    @tf.function(autograph=False)
    def gradient() -> Any:
        with tf.GradientTape() as tape:
            y = loop(variable)
        return tape.gradient(y, variable)

    return [tf.convert_to_tensor(gradient()).numpy() for _ in range(2)]


def compare(
    pair: tuple[kernel_runner.Runner, kernel_runner.Runner], seeds: Iterable[int]
) -> collections.Counter:
    """Runs the programs of these numbers with the library and on stock; prints each that differs.

    Returns:
      How many programs, values and errors were compared, and how many differ.
    """
    counts: collections.Counter[str] = collections.Counter()
    for number, seed in enumerate(seeds, 1):
        for runner in pair:
            runner.start_call(_RUN, seed)
        got, want = (runner.finish_call(_TIMEOUT_S) for runner in pair)
        counts["programs"] += 1
        if isinstance(want, list) and isinstance(got, list):
            counts["values"] += len(want)
            same = len(got) == len(want) and all(map(same_gradient, got, want))
        else:
            counts["errors"] += 1
            same = got == want
        if not same:
            counts["different"] += 1
            print(f"{random_program(seed)}\n  stock {want}\n  ours {got}", flush=True)
        if number % _PROGRAMS_PER_PROCESS == 0:
            for runner in pair:
                runner.restart()
    return counts


def main() -> None:
    """Parses the command line and runs."""
    parser = campaign.parser(__doc__, programs=500, settings=False)
    args = campaign.parse(parser, lambda seed: str(random_program(seed)))
    with kernel_runner.Runner("enable") as ours, kernel_runner.Runner() as stocks:
        counts = compare((ours, stocks), campaign.seeds(args))
    print(dict(counts))
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
