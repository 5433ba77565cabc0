"""Calls that are timed one by one: the second one, and those after it.

The median of many calls does not show what the first of them cost, nor what a slow call now and
then costs. Here a process makes 24 calls of a function. The first makes the kernels and is not
timed. The second is compared by itself, calls 5 to 24 by their median and by their mean. Each ratio
is the median over pairs of processes, one of stock and one of ours, that ran one after the other.
"""

from __future__ import annotations

import dataclasses
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence

CALLS = 24
_LATER = 5  # the first call that counts for the median and the mean

# For each call from the second one on, the seconds of each of its callers.
Times = Sequence[Sequence[float]]


@dataclasses.dataclass(frozen=True)
class Series:
    """The figures of a row whose calls were timed one by one, besides the ratio of the medians.

    Attributes:
      mean: Stock's mean of the later calls divided by ours.
      second: The same for the second call.
      second_target: Least ratio asked for of the second call. The mean has the target of the row.
      in_one_kernel: How many runs of loops ours ended in one kernel, in all its processes.
      handed_back: How many it began, and handed back to the executor.
      passed_on: How many it left to the executor before they began.
    """

    mean: float
    second: float
    second_target: float
    in_one_kernel: int
    handed_back: int
    passed_on: int


def times(call: Callable[[], object], callers: int = 1) -> Times:
    """Makes calls 2 to 24.

    Args:
      call: The function to be called.
      callers: How many threads make these calls at the same time, each as fast as it can.

    Returns:
      The time of each call.
    """
    found: list[list[float]] = [[] for _ in range(CALLS - 1)]
    together = threading.Barrier(callers)

    def make_calls() -> None:
        together.wait()
        for of_call in found:
            start = time.perf_counter()
            call()
            of_call.append(time.perf_counter() - start)

    threads = [threading.Thread(target=make_calls) for _ in range(callers - 1)]
    for thread in threads:
        thread.start()
    make_calls()
    for thread in threads:
        thread.join()
    return found


def later(series: Times) -> list[float]:
    """The times of calls 5 to 24, of all callers."""
    return [seconds for of_call in series[_LATER - 2 :] for seconds in of_call]


def median(series: Times) -> float:
    """The median time of calls 5 to 24."""
    return statistics.median(later(series))


def ratio(stock: Sequence[Times], ours: Sequence[Times], figure: Callable[[Times], float]) -> float:
    """The median over pairs of processes of stock's figure divided by ours."""
    pairs = zip(stock, ours, strict=False)  # a later process may have failed
    return statistics.median(figure(of_stock) / figure(of_ours) for of_stock, of_ours in pairs)


def summary(
    stock: Sequence[Times],
    ours: Sequence[Times],
    loop_runs: Sequence[Mapping[str, int]],
    second_target: float,
) -> Series:
    """The figures of a row.

    Args:
      stock: The calls of each process of stock; at least one.
      ours: Those of each process of ours; at least one.
      loop_runs: `Measurement.loop_runs` of each process of ours.
      second_target: Least ratio asked for of the second call.

    Returns:
      The figures.
    """
    total = {name: sum(runs[name] for runs in loop_runs) for name in loop_runs[0]}
    return Series(
        mean=ratio(stock, ours, lambda series: statistics.fmean(later(series))),
        second=ratio(stock, ours, lambda series: statistics.fmean(series[0])),
        second_target=second_target,
        in_one_kernel=total["runs"] - total["handed_back"],
        handed_back=total["handed_back"],
        passed_on=total["passed_on"],
    )
