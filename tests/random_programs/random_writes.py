"""Compares the gradients of random programs that write arrays, on stock and with the library.

    python -m tests.random_programs.random_writes --programs 1000 --seed 0 [--jit]

A program fills one or two arrays in nested `for` and `while` loops, forwards and backwards, in
branches, before and after `break` and `continue`, at sums and products of counters, so that some
slots are written several times; some arrays are exchanged, read, or copied to the other one. It
tests the proof of `_first_write`: if the library takes a second write to a slot for the first, the
overwritten value gets a gradient.

All values are small multiples of powers of two, so that every order of additions gives the same
gradients, which must be equal in all bits. `--jit` compiles the programs with XLA, on both sides.
"""

from __future__ import annotations

import collections
import linecache
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tests.lists.first_write_programs import noted_proofs
from tests.support import campaign, kernel_runner

_RUN = "tests.random_programs.random_writes:run_seed"
_TIMEOUT_S = 120.0
_ROWS = 5  # of the tensor that is written
_MOST_TRIPS = (4, 3, 2)  # of a loop, by its depth
_ARRAYS, _COUNTERS = ("a", "b"), ("k", "m")
_OPTIONS = "tf.autograph.experimental.set_loop_options"


class _Writer:
    """Writes the text of one program."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 41])
        self._left = 3 + int(self._rng.integers(7))  # statements
        self.lines: list[str] = []

    def _pick(self, choices: Any) -> Any:
        return choices[int(self._rng.integers(len(choices)))]

    def _chance(self, probability: float) -> bool:
        return bool(self._rng.random() < probability)

    def _index(self, loops: list[str]) -> str:
        """An integer: mostly one that differs between iterations."""
        counters = [*loops, *_COUNTERS]
        one = self._pick(counters[-3:] if self._chance(0.7) else counters)
        other = self._pick(counters)
        forms = [one, one, one, f"{one} + 1", f"2 * {one}", f"2 * {one} + 1", f"7 - {one}"]
        forms += [f"{one} * 3 + {other}", f"{one} + n", f"{one} + {other}", f"{one} - {other}"]
        return self._pick([*forms, f"{one} % 3", "2"])

    def _write(self, loops: list[str], indent: str) -> None:
        array, index = self._pick(_ARRAYS), self._index(loops)
        self.lines.append(f"{indent}{array} = write({array}, {index}, x[({index}) % {_ROWS}] * s)")
        if self._chance(0.3):
            counter, step = self._pick(_COUNTERS), self._pick((1, 1, 2, -1))
            self.lines.append(f"{indent}{counter} = {counter} + {step}")

    def _condition(self, loops: list[str]) -> str:
        return self._pick(
            (f"{self._pick([*loops, 'n'])} % 2 == 0", f"{self._pick([*loops, 'k'])} > 1", "n > 3")
        )

    def loop(self, loops: list[str], indent: str) -> None:
        trips, name = self._pick(range(1, _MOST_TRIPS[len(loops)] + 1)), f"i{len(self.lines)}"
        start = self._pick(("0", "0", "1", "n", "k"))
        body = f"{indent}    "
        if self._chance(0.6):
            step = self._pick((1, 1, 1, 2, -1, -1, -3))
            limit = f"{start} + {trips * step}"
            self.lines.append(f"{indent}for {name} in Range({start}, {limit}, {step}):")
            if self._chance(0.1):
                what = self._pick(("break", "continue"))
                self.lines.append(f"{body}if {self._condition([*loops, name])}: {what}")
            self.block([*loops, name], body, self._pick((1, 1, 2)))
        else:
            step = self._pick((1, 1, 2, -1))
            compare = "<" if step > 0 else ">"
            self.lines.append(f"{indent}{name} = number({start})")
            self.lines.append(f"{indent}end{name} = {name} + {trips * step}")
            self.lines.append(f"{indent}while {name} {compare} end{name}:")
            self.lines.append(f"{body}{_OPTIONS}(maximum_iterations=9)")  # which XLA needs
            late = self._chance(0.5)
            if not late:
                self.lines.append(f"{body}{name} = {name} + {step}")
            self.block([*loops, name], body, self._pick((1, 1, 2)))
            if late:
                self.lines.append(f"{body}{name} = {name} + {step}")

    def block(self, loops: list[str], indent: str, statements: int) -> None:
        for _ in range(statements):
            self._left -= 1
            kind = self._rng.random()
            if kind < 0.4 and len(loops) < len(_MOST_TRIPS) and self._left > 0:
                self.loop(loops, indent)
            elif kind < 0.55 and loops:
                self.lines.append(f"{indent}if {self._condition(loops)}:")
                self._write(loops, indent + "    ")
                if self._chance(0.6):
                    self.lines.append(f"{indent}else:")
                    self._write(loops, indent + "    ")
            elif kind < 0.6:
                self.lines.append(
                    f"{indent}s = s * 0.5 + read({self._pick(_ARRAYS)}, {self._index(loops)})"
                )
            elif kind < 0.64:
                self.lines.append(indent + self._pick(("a, b = b, a", "a = b", "b = a")))
            elif kind < 0.67:
                self.lines.append(f"{indent}{self._pick(_ARRAYS)} = fresh()")
            else:
                self._write(loops, indent)


def random_program(seed: int) -> str:
    """The text of the program of that number: `program(x, n, k, m, a, b, ..)`.

    The functions `Range`, `number`, `write`, `read` and `fresh` are given to it.
    """
    writer = _Writer(seed)
    writer.block([], "    ", 1)
    writer.loop([], "    ")
    writer.block([], "    ", 1)
    head = "def program(x, n, k, m, s, a, b, Range, number, write, read, fresh):"
    return "\n".join([head, *writer.lines, "    return a, b, s, k, m", ""])


def _compiled(seed: int) -> Callable[..., Any]:
    text, name = random_program(seed), f"<program {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)  # for autograph
    scope: dict[str, Any] = {"tf": tf}
    exec(compile(text, name, "exec"), scope)
    program: Callable[..., Any] = scope["program"]
    return program


def _indices(program: Callable[..., Any], n: int) -> tuple[int, int]:
    """The least and the largest index that the program uses, found by running it as Python."""
    used = [0]

    def use(array: Any, index: int, value: Any = 0) -> Any:
        used.append(index)
        return array if value is not None else 0

    rows = np.zeros(_ROWS, int)
    program(rows, n, 0, 1, 0, 0, 0, range, int, use, lambda a, i: use(a, i, None), lambda: 0)
    return min(used), max(used)


def run_seed(seed: int, jit: bool) -> tuple[list[np.ndarray], int]:
    """Runs the program of that number in a tf.function, with its gradient.

    Args:
      seed: The number.
      jit: Whether to compile it with XLA.

    Returns:
      The result and the gradient, for two lengths; and how many writes were proven to be first.
    """
    program = _compiled(seed)
    lengths = (3, 4)
    ranges = [_indices(program, n) for n in lengths]
    least, size = min(r[0] for r in ranges), max(r[1] for r in ranges) + 1
    size -= least

    def fresh() -> tf.TensorArray:
        return tf.TensorArray(tf.float64, size, element_shape=[2], clear_after_read=False)

    def loss(x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
        number = lambda value: tf.convert_to_tensor(value, tf.int32)  # noqa: E731
        a, b, s, *_ = tf.autograph.to_graph(program)(
            x, n, tf.constant(0), tf.constant(1), tf.ones([2], tf.float64), fresh(), fresh(),
            lambda *limits: tf.range(*limits), number,
            lambda array, index, value: array.write(index - least, value),
            lambda array, index: array.read(index - least), fresh,
        )  # fmt: skip
        weights = tf.reshape(tf.range(1.0, 2 * size + 1, dtype=tf.float64), [size, 2])
        return tf.reduce_sum(a.stack() * weights) + tf.reduce_sum(b.stack() * weights**2) + s[0]

    @tf.function(jit_compile=jit, autograph=False)
    def both(x: tf.Tensor, n: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loss(x, n)
        return y, tape.gradient(y, x, unconnected_gradients="zero")

    x = tf.reshape(tf.range(1.0, 2 * _ROWS + 1, dtype=tf.float64), [_ROWS, 2]) / 4
    with noted_proofs() as proven:
        # XLA needs to know the number of iterations, so n is a Python integer for it.
        runs = [both(x, n if jit else tf.constant(n)) for n in lengths]
        results = [value.numpy() for values in runs for value in values]
    return results, sum(proven)


def compare(
    ours: kernel_runner.Runner, stocks: kernel_runner.Runner, seeds: Iterable[int], jit: bool
) -> collections.Counter[str]:
    """Runs the programs on both, and prints those that differ.

    Returns:
      The number of programs, of those that differ, of those that TensorFlow cannot build or run
      ("refused" by both), and of writes that were proven to be first.
    """
    counts: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        for runner in (ours, stocks):
            runner.start_call(_RUN, seed, jit)
        got, want = ours.finish_call(_TIMEOUT_S), stocks.finish_call(_TIMEOUT_S)
        counts["programs"] += 1
        failed = [not isinstance(result, tuple) for result in (got, want)]
        if all(failed) and type(got) is type(want):
            counts["refused"] += 1
            continue
        if any(failed) or [r.tobytes() for r in got[0]] != [r.tobytes() for r in want[0]]:
            counts["different"] += 1
            print(f"--- program {seed}\n{random_program(seed)}ours:  {got}\nstock: {want}")
            continue
        counts["proven"] += got[1]
        counts["programs with proofs"] += got[1] > 0
    return counts


def main() -> None:
    """Parses the command line and runs."""
    parser = campaign.parser(__doc__, programs=1000, settings=False)
    parser.add_argument("--jit", action="store_true", help="compile the programs with XLA")
    args = campaign.parse(parser, random_program)
    with kernel_runner.Runner("enable") as ours, kernel_runner.Runner() as stocks:
        counts = compare(ours, stocks, campaign.seeds(args), args.jit)
    print(dict(counts))
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
