"""Measures cases on stock and on ours in alternating processes, and prints what was found."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks import case as cases
from benchmarks.case import Case, Measurement

LIBRARIES = ("stock", "ours")
_ROOT = pathlib.Path(__file__).resolve().parent.parent
_RESULTS = pathlib.Path(__file__).resolve().parent / "results"


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much to measure.

    Attributes:
      rounds: Processes a library, alternating.
      budget_s: Seconds of runs in each.
      row_s: No further process is started for a row after so long.
      limit_s: A process is ended after so long, and one that would take longer not started.
      largest_n: Larger sizes are left out.
    """

    rounds: int
    budget_s: float
    row_s: float
    limit_s: float
    largest_n: int


QUICK = Plan(rounds=2, budget_s=0.5, row_s=10, limit_s=60, largest_n=6_400)
FULL = Plan(rounds=5, budget_s=2.0, row_s=60, limit_s=240, largest_n=10**9)
_GROWTH = 4.5  # a quadratic case's time from one size to the next, with some to spare


@dataclasses.dataclass(frozen=True)
class Row:
    """One case at one size: a line of the table and of the JSON file.

    Attributes:
      case: Name of the case.
      what: What was timed.
      n: Size.
      stock_s: Median time on stock, or `None` if stock could not.
      ours_s: Median time on ours.
      stock_spread_s: Median absolute deviation.
      ours_spread_s: Median absolute deviation.
      ratio: `stock_s / ours_s`.
      cpu_ratio: The same of the processor time of whole runs, what prepares them included.
      target: Least ratio asked for.
      stock_peak_bytes: Rise of memory on stock.
      ours_peak_bytes: Rise of memory on ours.
      note: What went wrong, if anything.
    """

    case: str
    what: str
    n: int
    stock_s: float | None
    ours_s: float | None
    stock_spread_s: float | None
    ours_spread_s: float | None
    ratio: float | None
    cpu_ratio: float | None
    target: float
    stock_peak_bytes: int | None
    ours_peak_bytes: int | None
    note: str = ""


class Server:
    """The process that measures for one library."""

    def __init__(self, module: str, library: str) -> None:
        """Starts it.

        Args:
          module: Where the cases are.
          library: `stock` or `ours`.
        """
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}
        if library == "stock":
            environment["TENSOR_ARRAY_GRAD"] = "off"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.server", module, library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env=environment,
        )
        self._answer()

    def measure(self, case: Case, n: int, plan: Plan) -> Measurement | str:
        """Measures `case` at `n` in a fresh child.

        Returns:
          The measurement, or in words why there is none.
        """
        request = {"case": case.name, "n": n, "budget_s": plan.budget_s, "limit_s": plan.limit_s}
        assert self._process.stdin
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._answer()
        return answer["error"] if "error" in answer else Measurement(**answer)

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def compare(
    case: Case,
    n: int,
    servers: dict[str, Server],
    plan: Plan,
    smaller: Row | None = None,
) -> Row:
    """Measures one case at one size, `plan.rounds` times on each library, alternating.

    Args:
      case: What to measure.
      n: Its size.
      servers: One a library.
      plan: How much to measure.
      smaller: The row of the next smaller size. A library that could not do that one, or would
        take too long for this one, is left out.

    Returns:
      The row.

    Raises:
      AssertionError: Stock and ours do not compute the same.
    """
    found: dict[str, list[Measurement]] = {library: [] for library in LIBRARIES}
    notes = _left_out(smaller, plan)
    start = time.monotonic()
    for number in range(plan.rounds):
        if number and time.monotonic() - start > plan.row_s:
            break
        for library in LIBRARIES if number % 2 == 0 else LIBRARIES[::-1]:
            if library in notes:
                continue
            answer = servers[library].measure(case, n, plan)
            if isinstance(answer, str):
                notes[library] = answer
            else:
                found[library].append(answer)
    if all(found.values()):
        _check_pair(case, n, found["stock"][0], found["ours"][0])
    return _row(case, n, found, "; ".join(f"{k}: {v}" for k, v in notes.items()))


def _left_out(smaller: Row | None, plan: Plan) -> dict[str, str]:
    """Libraries not to be asked for the next size, and why."""
    if smaller is None:
        return {}
    notes = {}
    for library, seconds in (("stock", smaller.stock_s), ("ours", smaller.ours_s)):
        if seconds is None:
            notes[library] = "not run, the smaller size failed"
        elif seconds * _GROWTH > plan.limit_s:
            notes[library] = "not run, it would take too long"
    return notes


def _check_pair(case: Case, n: int, stock: Measurement, ours: Measurement) -> None:
    """Both must compute the same, and each with its own kernels."""
    largest = float(np.max(np.abs(stock.sample), initial=0.0))
    np.testing.assert_allclose(
        ours.sample, stock.sample, rtol=1e-3, atol=1e-5 * largest, err_msg=f"{case.name}, n={n}"
    )
    assert stock.kernel_calls == 0, f"{case.name}: the library's kernels ran on stock"
    assert ours.kernel_calls > 0 or not case.uses_arrays, f"{case.name}: our kernels did not run"


def _row(case: Case, n: int, found: dict[str, list[Measurement]], note: str) -> Row:
    middle: dict[str, float | None] = {}
    scatter: dict[str, float | None] = {}
    peak: dict[str, int | None] = {}
    cpu: dict[str, float | None] = {}
    for library, measurements in found.items():
        medians = [statistics.median(m.seconds) for m in measurements]
        middle[library] = statistics.median(medians) if medians else None
        scatter[library] = cases.spread(medians) if medians else None
        cpu[library] = _least_cpu(measurements)
        peaks = [m.peak_bytes for m in measurements]
        peak[library] = int(statistics.median(peaks)) if peaks else None
    return Row(
        case=case.name,
        what=case.what,
        n=n,
        stock_s=middle["stock"],
        ours_s=middle["ours"],
        stock_spread_s=scatter["stock"],
        ours_spread_s=scatter["ours"],
        ratio=_ratio(middle),
        cpu_ratio=_ratio(cpu),
        target=case.target_at(n),
        stock_peak_bytes=peak["stock"],
        ours_peak_bytes=peak["ours"],
        note=note,
    )


def _least_cpu(measurements: Sequence[Measurement]) -> float | None:
    return min((statistics.median(m.cpu_seconds) for m in measurements), default=None)


def _ratio(of: dict[str, float | None]) -> float | None:
    stock, ours = of["stock"], of["ours"]
    return stock / ours if stock and ours else None


@contextlib.contextmanager
def servers_for(module: str) -> Iterator[dict[str, Server]]:
    """Both servers, ended on leaving."""
    servers = {library: Server(module, library) for library in LIBRARIES}
    try:
        yield servers
    finally:
        for server in servers.values():
            server.close()


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    names = ("tensorflow-cpu", "tensorflow")
    versions = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        **versions,
    }


def main(module: str, all_cases: Sequence[Case], arguments: Sequence[str] | None = None) -> int:
    """Measures, prints the table as it grows, and writes the JSON rows and the picture.

    Args:
      module: Name of the module that holds `all_cases`.
      all_cases: What to measure.
      arguments: The command line; `None` takes the process's own.

    Returns:
      The exit code: 1 if a ratio is below its target, a peak above stock's, or a case failed.
    """
    from benchmarks import report  # here: servers' children need no matplotlib

    options = _parse(module, arguments)
    plan = QUICK if options.quick else FULL
    if options.largest is not None:
        plan = dataclasses.replace(plan, largest_n=options.largest, limit_s=FULL.limit_s)
    chosen = [c for c in all_cases if any(word in c.name for word in options.cases or [""])]
    facts = machine()
    print(facts, flush=True)
    print(report.HEADER, flush=True)
    rows: list[Row] = []
    stem = options.out / module.rsplit(".", 1)[-1]
    stem.parent.mkdir(parents=True, exist_ok=True)
    with servers_for(module) as servers:
        for case in chosen:
            row = None
            for n in case.sizes_within(plan.largest_n):
                row = compare(case, n, servers, plan, row)
                rows.append(row)
                print(report.line(row), flush=True)
                report.keep([row], facts, stem)  # whatever comes after
    report.write(rows, facts, stem)
    return report.judge(rows)


def _parse(module: str, arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--quick", action="store_true", help="small sizes, few runs")
    parser.add_argument("--largest", type=int, metavar="N", help="no larger sizes than N")
    parser.add_argument("--out", type=pathlib.Path, default=_RESULTS, help="where results go")
    parser.add_argument("cases", nargs="*", help="only cases with one of these in their names")
    return parser.parse_args(arguments)
