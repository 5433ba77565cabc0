"""Benchmark cases, and the measurement of one case inside a process."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.memory import PeakMemory
from benchmarks.series import Times, later

# How many elements of a result are sent to the parent process, which compares the libraries.
_SAMPLE = 200


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A case that is built and ready to run.

    Attributes:
      run: Does the work once and returns its duration in seconds, either per op or for the whole
        run, as the case says.
      result: Returns the result of a run, to be checked and compared.
      expected: The result according to NumPy, or `None` if stock is the only reference.
      tolerance: Relative error that a sum in another order may have.
      compiled: Makes the same case with `jit_compile=True`; its first call compiles. `None` if
        there is no such form.
      series: Makes calls 2 to 24 and returns the time of each (`benchmarks.series`). These are then
        measured instead of `run`.
    """

    run: Callable[[], float]
    result: Callable[[], npt.ArrayLike]
    expected: npt.ArrayLike | None = None
    tolerance: float = 1e-5
    compiled: Callable[[], Prepared] | None = None
    series: Callable[[], Times] | None = None


def of_call(call: Callable[[], npt.ArrayLike]) -> Prepared:
    """The case of a call, which returns the result."""
    return Prepared(run=timed(call), result=call)


@dataclasses.dataclass(frozen=True)
class Case:
    """One program to be timed on each library.

    Attributes:
      name: Unique in its file.
      what: What is timed, for the table.
      sizes: Values of n that are measured.
      build: Makes the case for one n.
      target: Least ratio of stock's time to ours that is asked for: at every size, or by size. At a
        size that is not named, ours must not be slower.
      uses_arrays: Whether this library's kernels must have run.
      judged: Whether a ratio below the target counts. False for the case that measures the floor.
      first_call: Whether the measurement is the processor time of the first call, which makes the
        result that is verified. There are no other runs then.
      cpu_target: Least ratio of the processor times that is asked for.
      second_target: Least ratio of the second calls that is asked for, of a case with
        `Prepared.series`; 0 for other cases.
    """

    name: str
    what: str
    sizes: tuple[int, ...]
    build: Callable[[int], Prepared]
    target: float | Mapping[int, float] = 1.0
    uses_arrays: bool = True
    judged: bool = True
    first_call: bool = False
    cpu_target: float = 0.0
    second_target: float = 0.0

    def sizes_within(self, largest: int) -> tuple[int, ...]:
        """The sizes up to `largest`, or the first size if all are larger."""
        return tuple(n for n in self.sizes if n <= largest) or self.sizes[:1]

    def target_at(self, n: int) -> float:
        """The least ratio asked for at `n`: 1 if the case names none, 0 if it is not judged."""
        if not self.judged:
            return 0.0
        return self.target.get(n, 1.0) if isinstance(self.target, Mapping) else self.target


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The result of one process.

    Attributes:
      seconds: Duration of each run.
      cpu_seconds: Processor time of all threads for each run. Other processes affect it less.
      peak_bytes: Highest resident memory, minus that before the case was built.
      sample: Some elements of the result.
      kernel_calls: Calls of this library's kernels.
      first_s: Duration of the first call, which is verified. With `jit_compile=True`, it compiles.
      series: The time of each call, if they were timed one by one; `seconds` has the later ones.
      loop_runs: How many runs of loops this library began in one kernel (`runs`), how many of these
        it handed back to the executor (`handed_back`), and how many it left to the executor before
        they began (`passed_on`).
    """

    seconds: list[float]
    cpu_seconds: list[float]
    peak_bytes: int
    sample: list[float]
    kernel_calls: int = 0
    first_s: float = 0.0
    series: Times = ()
    loop_runs: Mapping[str, int] = dataclasses.field(default_factory=dict)


def check(prepared: Prepared) -> npt.NDArray[Any]:
    """Runs the case once for its result and compares the result with NumPy's.

    Args:
      prepared: The case.

    Returns:
      The result, flat.

    Raises:
      AssertionError: The result differs from NumPy's.
    """
    result = np.asarray(prepared.result()).ravel()
    if prepared.expected is not None:
        expected = np.asarray(prepared.expected, np.float64).ravel()
        np.testing.assert_allclose(result, expected, rtol=prepared.tolerance)
    return result


def measure(case: Case, n: int, budget_s: float, jit: bool = False) -> Measurement:
    """Runs once, to verify and warm up, then times as many runs as fit into `budget_s` seconds.

    Args:
      case: What to measure.
      n: Its size.
      budget_s: How long all runs may take. At least three runs are timed, unless the first run,
        which is verified, took four times `budget_s` or longer. Its time is then the measurement.
      jit: Whether to measure the form with `jit_compile=True`. The first run then compiles, so a
        second run takes its place in the measurement.

    Returns:
      The measurement.

    Raises:
      AssertionError: The result differs from NumPy's.
      ValueError: The case has no form with `jit_compile=True`.
    """
    memory = PeakMemory()
    prepared = _compiled(case.build(n)) if jit else case.build(n)
    start, cpu = time.perf_counter(), time.process_time()
    result = check(prepared)
    first = (time.perf_counter() - start, time.process_time() - cpu)
    series: Times = ()
    if case.first_call:
        timings = [(first[1], first[1])]
    elif prepared.series is not None:
        cpu = time.process_time()
        series = prepared.series()
        cpu = (time.process_time() - cpu) / sum(map(len, series))
        timings = [(seconds, cpu) for seconds in later(series)]
    else:
        timings = _timings(prepared, budget_s, _run_once(prepared) if jit else first)
    picked = np.linspace(0, len(result) - 1, min(_SAMPLE, len(result))).astype(int)
    sample = result[picked].astype(np.float64).tolist()
    seconds, cpu_seconds = (list(column) for column in zip(*timings, strict=True))
    return Measurement(
        seconds, cpu_seconds, memory.bytes(), sample, first_s=first[0], series=series
    )


def _timings(
    prepared: Prepared, budget_s: float, first: tuple[float, float]
) -> list[tuple[float, float]]:
    """The wall and processor time of each run; those of the `first`, if it was long."""
    if first[0] >= 4 * budget_s:
        return [first]
    start = time.perf_counter()
    prepared.run()
    wall = time.perf_counter() - start
    return [_run_once(prepared) for _ in range(int(np.clip(budget_s / wall, 3, 50)))]


def _compiled(prepared: Prepared) -> Prepared:
    if prepared.compiled is None:
        raise ValueError("the case has no form with jit_compile=True")
    return prepared.compiled()


def _run_once(prepared: Prepared) -> tuple[float, float]:
    """The duration that one run returns, and its processor time."""
    cpu = time.process_time()
    seconds = prepared.run()
    return seconds, time.process_time() - cpu


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """Makes a `Prepared.run` of `work`: its wall time."""

    def run() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return run


def spread(values: list[float]) -> float:
    """Median absolute deviation."""
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values)
