"""Runs random programs on the model, on stock and with this library, and compares the results.

    python -m tests.support.fuzz --programs 50000

Three comparisons are made for each program: stock with the model that follows the rules of stock,
this library ("ours") with the model that follows the rules of this library, and stock with this
library up to the first step at which one of the differences of `reference.Rules` can show. Values
are compared bit by bit.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import sys
import time
from collections.abc import Sequence

import hypothesis
import numpy as np
from hypothesis import strategies as st

from tests.support import kernel_runner, reference
from tests.support.programs import Program, programs, random_program

# If the input of one of these ops has several faults, this library may report another one of them
# than the model does.
_SEVERAL_FAULTS = ("Gather", "Scatter", "Split", "Concat", "GradWithShape")


class Mismatch(AssertionError):
    """Two runs of one program differ."""


@dataclasses.dataclass
class Tally:
    """What has been compared so far."""

    programs: int = 0
    steps: int = 0
    failures: int = 0
    alike: int = 0
    rules: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


# A program, its mode, and the outcomes that stock must give, up to a step that crashes stock.
_Job = tuple[Program, str, list[reference.Expected]]


class Judge:
    """Runs programs and compares them.

    Args:
      ours: A runner with this library's kernels, or None to compare stock with its model alone.
      stocks: A runner with TensorFlow's own kernels, or None.
    """

    def __init__(self, ours: kernel_runner.Runner | None, stocks: kernel_runner.Runner | None):
        self._ours = ours
        self._stock = stocks
        self._jobs: collections.deque[_Job] = collections.deque()
        self.tally = Tally()

    def check(self, program: Program, mode: str) -> None:
        """Raises Mismatch if a run differs from its model or from the other run."""
        self.start(program, mode)
        self.finish()

    def start(self, program: Program, mode: str) -> None:
        """Sends `program` to the runners; `finish` checks it. Some tens may be started at once."""
        alive = 0
        want: list[reference.Expected] = []
        if self._stock is not None:
            want = reference.Model(reference.STOCK).run(program)
            alive = _steps_before_death(want)
            if alive:
                self._stock.submit(program[:alive], mode)
        if self._ours is not None:
            self._ours.submit(program, mode)
        self._jobs.append((program, mode, want[:alive]))

    def finish(self) -> None:
        """Checks the program that was started first; raises Mismatch as `check` does."""
        program, mode, want = self._jobs.popleft()
        got_stock = self._stock.collect() if self._stock is not None and want else None
        got_ours = self._ours.collect() if self._ours is not None else None
        model = reference.Model(reference.OURS)
        expected = model.run(program)
        if got_stock is not None:
            compare("stock", program, got_stock, want, mode)
        if got_ours is not None:
            compare("ours", program, got_ours, expected, mode)
        first = min((step for step, _ in model.met), default=len(program))
        if got_stock is not None and got_ours is not None:
            _compare_runs(program, got_stock[:first], got_ours[:first], mode)
        self._count(program, expected, model, first)

    def _count(
        self,
        program: Program,
        expected: Sequence[reference.Expected],
        model: reference.Model,
        first: int,
    ) -> None:
        self.tally.programs += 1
        self.tally.steps += len(program)
        self.tally.failures += sum(isinstance(e, reference.Failed) for e in expected)
        self.tally.alike += first == len(program)
        self.tally.rules.update({rule for _, rule in model.met})


def _steps_before_death(expected: Sequence[reference.Expected]) -> int:
    dead = [k for k, e in enumerate(expected) if isinstance(e, reference.Dead)]
    return dead[0] if dead else len(expected)


def compare(
    kernels: str,
    program: Program,
    got: Sequence[kernel_runner.Outcome],
    want: Sequence[reference.Expected],
    mode: str,
) -> None:
    """Raises Mismatch at the first step whose outcome in `got` is not the one in `want`."""
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        any_text = kernels == "ours" and program[k]["op"] in _SEVERAL_FAULTS
        problem = _difference(g, w, any_text)
        if problem:
            raise Mismatch(_report(kernels, program, k, problem, mode))
        if mode != "eager" and isinstance(w, reference.Failed):
            return  # an error ends the run of a graph


def _difference(got: kernel_runner.Outcome, want: reference.Expected, any_text: bool) -> str:
    if isinstance(want, kernel_runner.Value):
        if isinstance(got, kernel_runner.Value) and same_values(got.outputs, want.outputs):
            return ""
    elif isinstance(want, reference.Failed):
        same_kind = isinstance(got, kernel_runner.Error) and got.kind == want.kind
        if same_kind and (any_text or want.text in got.message):
            return ""
    elif isinstance(want, kernel_runner.NotRun) and isinstance(got, kernel_runner.NotRun):
        return ""
    return f"got  {got}\n  want {want}"


def _compare_runs(
    program: Program,
    one: Sequence[kernel_runner.Outcome],
    other: Sequence[kernel_runner.Outcome],
    mode: str,
) -> None:
    for k, (a, b) in enumerate(zip(one, other, strict=False)):
        if isinstance(a, kernel_runner.Value) and isinstance(b, kernel_runner.Value):
            same = same_values(a.outputs, b.outputs)
        elif isinstance(a, kernel_runner.Error) and isinstance(b, kernel_runner.Error):
            same = a.kind == b.kind
        else:
            same = type(a) is type(b)
        if not same:
            raise Mismatch(_report("ours and stock", program, k, f"stock {a}\n  ours  {b}", mode))


def same_values(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> bool:
    """Whether dtype, shape and every bit of every array are equal; any NaN equals any NaN."""
    return len(got) == len(want) and all(map(_same_array, got, want))


def _same_array(got: np.ndarray, want: np.ndarray) -> bool:
    want = np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if got.dtype == object or got.dtype.kind in "biu":
        return bool(np.all(got == want))
    if got.dtype.kind == "c":
        return _same_array(got.real, want.real) and _same_array(got.imag, want.imag)
    nan, zero = np.isnan(got), np.zeros_like(got)
    return bool(
        np.array_equal(nan, np.isnan(want))
        and np.array_equal(np.where(nan, zero, got), np.where(nan, zero, want))
        and np.array_equal(np.signbit(got) & ~nan, np.signbit(want) & ~nan)
    )


def _report(kernels: str, program: Program, at: int, problem: str, mode: str) -> str:
    steps = "\n".join(f"  {'>' if k == at else ' '} {k}: {step}" for k, step in enumerate(program))
    return f"{kernels}, mode {mode}, step {at}:\n  {problem}\n{steps}"


def run(judge: Judge, count: int, eager: int = 4) -> None:
    """Checks `count` programs; raises Mismatch with the smallest program found that differs.

    A graph takes as long as ten eager runs, so `eager` programs run eagerly for each one that
    runs in a graph.
    """
    modes = st.sampled_from(["eager"] * (2 * eager) + ["function", "session"])

    @hypothesis.settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
    )
    @hypothesis.given(programs(), modes)
    def check(program: Program, mode: str) -> None:
        judge.check(program, mode)

    check()


_UNDER_WAY = 16  # programs; enough to keep all processes busy, and too few to fill a socket


def run_many(judge: Judge, seed: int, numbers: Sequence[int]) -> int:
    """Checks the programs `numbers` of `seed`, on this library and on stock at the same time.

    Prints each mismatch and continues. Returns the number of mismatches.
    """
    start = time.monotonic()
    mismatches = 0

    def finish(number: int) -> int:
        try:
            judge.finish()
        except Mismatch as mismatch:
            print(f"\nseed {seed}, program {number}: {mismatch}", flush=True)
            return 1
        return 0

    for k, number in enumerate(numbers):
        judge.start(random_program(seed, number), _mode(number))
        if k >= _UNDER_WAY:
            mismatches += finish(numbers[k - _UNDER_WAY])
        if k % 100 == 0:
            _show_progress(judge.tally, len(numbers), time.monotonic() - start)
    for number in numbers[-_UNDER_WAY:]:
        mismatches += finish(number)
    _show_progress(judge.tally, len(numbers), time.monotonic() - start)
    sys.stderr.write("\n")
    return mismatches


def _mode(number: int) -> str:
    # Of 40 programs, one runs in a Session and one in a function. These two take as long as the
    # other 38.
    return {0: "session", 1: "function"}.get(number % 40, "eager")


def _show_progress(tally: Tally, count: int, elapsed: float) -> None:
    part = min(1.0, tally.programs / count)
    left = elapsed / max(part, 1e-9) - elapsed
    bar = "#" * int(30 * part)
    sys.stderr.write(
        f"\r[{bar:<30}] {tally.programs}/{count} programs, {tally.steps} steps, "
        f"{tally.programs / max(elapsed, 1e-9):.0f}/s, {left / 60:.1f} min left "
    )
    sys.stderr.flush()


def _logs(runners: Sequence[kernel_runner.Runner | None]) -> str:
    return "\n".join(runner.log()[-2000:] for runner in runners if runner is not None)


def main() -> None:
    """Parses the command line, runs the programs and prints a summary."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--programs", type=int, default=50000)
    parser.add_argument("--library", default="enable", help="'enable', 'none', or a library's path")
    parser.add_argument("--no-stock", action="store_true", help="compare ours with its model only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    args = parser.parse_args()
    ours = None if args.library == "none" else kernel_runner.Runner(args.library)
    stocks = None if args.no_stock else kernel_runner.Runner()
    judge = Judge(ours, stocks)
    numbers = range(args.first, args.first + args.programs)
    try:
        mismatches = run_many(judge, args.seed, numbers)
        if mismatches:
            print(_logs([ours, stocks]))
    finally:
        for runner in (ours, stocks):
            if runner is not None:
                runner.close()
    tally = judge.tally
    print(
        f"{mismatches} mismatches. {tally.programs} programs, {tally.steps} steps, of which "
        f"{tally.failures} fail as they should; {tally.alike} programs meet no listed difference. "
        f"Met: {dict(tally.rules)}"
    )
    sys.exit(1 if mismatches else 0)


if __name__ == "__main__":
    main()
