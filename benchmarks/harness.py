"""Measures cases on stock and on ours in alternating processes, and prints the results."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import importlib.metadata
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from benchmarks import case as cases
from benchmarks import series
from benchmarks.case import Case, Measurement
from benchmarks.rows import LIBRARIES, OURS_JIT, RESULTS, STOCK_JIT, STOCK_KERNELS, Other, Row
from tests.support.kernel_runner import Died, Error, Hung, Runner

Attempt = Callable[[], Measurement | str]  # a measurement, or the reason why there is none
_ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much to measure.

    Attributes:
      rounds: Number of processes per library, alternating.
      budget_s: Seconds of runs in each process.
      row_s: After this many seconds, no further process is started for a row.
      limit_s: A process is ended after this many seconds, and not started if it would take longer.
      largest_n: Larger sizes are left out.
    """

    rounds: int
    budget_s: float
    row_s: float
    limit_s: float
    largest_n: int


QUICK = Plan(rounds=2, budget_s=0.5, row_s=10, limit_s=60, largest_n=6_400)
FULL = Plan(rounds=5, budget_s=2.0, row_s=60, limit_s=240, largest_n=10**9)
_GROWTH = 4.5  # of the time from one size to the next: 4 if it is quadratic, with a margin


class Server:
    """Measures on one library, each time in a new process; a context manager.

    The processes are forked from one that has loaded TensorFlow and the library and has run no op:
    that takes milliseconds instead of seconds, and a new process has no caches, arrays or memory
    from the measurement before.
    """

    def __init__(
        self, module: str, library: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """Starts to load the library.

        Args:
          module: Name of the module that holds the cases.
          library: `stock`, `ours` or one of `OTHERS`.
          environment: Variables added to the environment of this process.
        """
        own = {"TENSOR_ARRAY_GRAD_KERNELS": "off"} if library == STOCK_KERNELS else {}
        loads = None if library in ("stock", STOCK_JIT) else "enable"
        self._module, self._jit = module, library in (STOCK_JIT, OURS_JIT)
        self._runner = Runner(loads, env={**own, **(environment or {})})

    def measure(self, case: Case, n: int, plan: Plan) -> Measurement | str:
        """Measures `case` at `n`.

        Returns:
          The measurement, or the reason why there is none.
        """
        arguments = (self._module, case.name, n, plan.budget_s, self._jit)
        found = self._runner.call("benchmarks.child:measure", *arguments, timeout=plan.limit_s)
        if isinstance(found, Hung):
            return f"took longer than {plan.limit_s:.0f} s"
        if isinstance(found, (Died, Error)):
            return f"the process failed: {found}; {self._runner.log()[-500:]}"
        return cast("Measurement | str", found)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()


def alternate(
    attempts: Mapping[str, Attempt], plan: Plan, notes: dict[str, str]
) -> dict[str, list[Measurement]]:
    """Measures in rounds: one attempt of each name per round, in reverse order every other round.

    Args:
      attempts: By name, a function that measures once.
      plan: How many rounds, and for how long.
      notes: The names to leave out, with the reasons. If an attempt fails, its name is added with
        the reason, and left out of later rounds.

    Returns:
      The measurements, by name.
    """
    found: dict[str, list[Measurement]] = {name: [] for name in attempts}
    start = time.monotonic()
    for number in range(plan.rounds):
        if number and time.monotonic() - start > plan.row_s:
            break
        for name in list(attempts)[:: 1 if number % 2 == 0 else -1]:
            if name in notes:
                continue
            answer = attempts[name]()
            if isinstance(answer, str):
                notes[name] = answer
            else:
                found[name].append(answer)
    return found


def compare(
    case: Case,
    n: int,
    servers: Mapping[str, Server],
    plan: Plan,
    smaller: Row | None = None,
) -> Row:
    """Measures one case at one size, `plan.rounds` times on each library, alternating.

    Args:
      case: What to measure.
      n: Its size.
      servers: One per library: stock and ours, and any of `OTHERS`.
      plan: How much to measure.
      smaller: The row of the next smaller size. A library that failed at that size, or that would
        take too long at `n`, is left out.

    Returns:
      The row.

    Raises:
      AssertionError: The results of stock and ours differ, or the wrong kernels ran.
    """
    notes = {k: v for k, v in _left_out(smaller, plan).items() if k in servers}
    attempts = {k: functools.partial(v.measure, case, n, plan) for k, v in servers.items()}
    found = alternate(attempts, plan, notes)
    if found["stock"] and found["ours"]:
        _check_pair(case, n, found["stock"][0], found["ours"][0])
    others = {name: _other(name, found, notes) for name in servers if name not in LIBRARIES}
    row = dataclasses.replace(_row(case, n, found, notes), others=others)
    return _with_series(row, case, found) if case.second_target else row


def _left_out(smaller: Row | None, plan: Plan) -> dict[str, str]:
    """The libraries that are not measured at the next size, and why."""
    if smaller is None:
        return {}
    notes = {}
    took = {"stock": smaller.stock_s, "ours": smaller.ours_s}
    took |= {name: other.seconds for name, other in smaller.others.items()}
    for library, seconds in took.items():
        if seconds is None:
            notes[library] = "not run, the smaller size failed"
        elif seconds * _GROWTH > plan.limit_s:
            notes[library] = "not run, it would take too long"
    return notes


def _check_pair(case: Case, n: int, stock: Measurement, ours: Measurement) -> None:
    """Raises AssertionError unless both computed the same, each with its own kernels."""
    check_same(f"{case.name}, n={n}", stock, ours)
    assert stock.kernel_calls == 0, f"{case.name}: the library's kernels ran on stock"
    assert ours.kernel_calls > 0 or not case.uses_arrays, f"{case.name}: our kernels did not run"


def check_same(what: str, want: Measurement, got: Measurement) -> None:
    """Compares the results of two measurements.

    Args:
      what: What was measured, for the message.
      want: One of the measurements.
      got: The other.

    Raises:
      AssertionError: The results differ by more than rounding.
    """
    largest = float(np.max(np.abs(want.sample), initial=0.0))
    np.testing.assert_allclose(
        got.sample, want.sample, rtol=1e-3, atol=1e-5 * largest, err_msg=what
    )


def _row(case: Case, n: int, found: dict[str, list[Measurement]], notes: dict[str, str]) -> Row:
    middle: dict[str, float | None] = {}
    scatter: dict[str, float | None] = {}
    peak: dict[str, int | None] = {}
    cpu: dict[str, float | None] = {}
    for library in LIBRARIES:
        measurements = found[library]
        middle[library], scatter[library] = middle_and_spread(m.seconds for m in measurements)
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
        note="; ".join(f"{k}: {notes[k]}" for k in notes if k in LIBRARIES),
        cpu_target=case.cpu_target,
    )


def _with_series(row: Row, case: Case, found: dict[str, list[Measurement]]) -> Row:
    """`row` with the figures of calls that were timed one by one, if both libraries have some."""
    stock, ours = ([m.series for m in found[library]] for library in LIBRARIES)
    if not stock or not ours:
        return row
    runs = [m.loop_runs for m in found["ours"]]
    return dataclasses.replace(
        row,
        ratio=series.ratio(stock, ours, series.median),
        series=series.summary(stock, ours, runs, case.second_target),
        stock_peak_bytes=None,  # which this table does not have
        ours_peak_bytes=None,
    )


def _other(name: str, found: dict[str, list[Measurement]], notes: dict[str, str]) -> Other:
    """The figures of one of `OTHERS`. If its values are not stock's, that is noted."""
    measured, note = found[name], notes.get(name, "")
    if measured and found["stock"]:
        try:
            check_same("", found["stock"][0], measured[0])
        except AssertionError:
            note = "computes other values than stock"
    middle, scatter = middle_and_spread(m.seconds for m in measured)
    first, _ = middle_and_spread([m.first_s] for m in measured)
    return Other(middle, scatter, first, note)


def middle_and_spread(
    processes: Iterable[Sequence[float]],
) -> tuple[float, float] | tuple[None, None]:
    """The median over processes of the median over runs, and its median absolute deviation.

    Args:
      processes: For each process, the durations of its runs.

    Returns:
      The two values; `None` for both if there is no process.
    """
    medians = [statistics.median(runs) for runs in processes]
    return (statistics.median(medians), cases.spread(medians)) if medians else (None, None)


def _least_cpu(measurements: Sequence[Measurement]) -> float | None:
    return min((statistics.median(m.cpu_seconds) for m in measurements), default=None)


def _ratio(of: dict[str, float | None]) -> float | None:
    stock, ours = of["stock"], of["ours"]
    return stock / ours if stock and ours else None


@contextlib.contextmanager
def servers_for(module: str, libraries: Sequence[str] = LIBRARIES) -> Iterator[dict[str, Server]]:
    """One server per library, for the duration of a `with` statement."""
    with contextlib.ExitStack() as stack:
        yield {library: stack.enter_context(Server(module, library)) for library in libraries}


def write_rows(rows: Sequence[Any], facts: dict[str, Any], path: pathlib.Path) -> None:
    """Writes dataclass rows as JSON lines, with the machine. Overwrites the file."""
    records = [dataclasses.asdict(row) | {"machine": facts} for row in rows]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def machine() -> dict[str, Any]:
    """The facts about this machine and this TensorFlow that the results depend on."""
    from tensor_array_grad import _tf_private  # not at the top, because it imports TensorFlow

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
        "commit": _commit(),
        "processor": model,
        "cores": os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "onednn": _tf_private.is_onednn_enabled(),  # in the servers too: they inherit the variable
        **versions,
    }


def _commit() -> str:
    """The commit measured, with `-dirty` if files differ from it; empty outside of a checkout.

    The results themselves do not count: each benchmark that ran before has changed them.
    """
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        changed = _git("diff", "--name-only", "HEAD", "--", ".", ":!benchmarks/results")
        return _git("describe", "--always", "--exclude=*") + "-dirty" * bool(changed)
    return ""


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=_ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def main(module: str, all_cases: Sequence[Case], arguments: Sequence[str] | None = None) -> int:
    """Measures, prints each row when it is complete, and writes the JSON rows and the pictures.

    Args:
      module: Name of the module that holds `all_cases`.
      all_cases: The cases to choose from.
      arguments: The command line; `None` means that of this process.

    Returns:
      The exit code: 1 if a ratio is below its target, a peak above stock's, or a case failed.
    """
    from benchmarks import report  # not at the top, so servers do not import matplotlib

    parser = parser_for(f"python -m {module}")
    parser.add_argument(
        "--jit", action="store_true", help="stock and ours with jit_compile=True too (slow)"
    )
    parser.add_argument(
        "--stock-kernels", action="store_true", help="the library on stock's kernels too"
    )
    options = parser.parse_args(arguments)
    plan = plan_for(options)
    libraries = LIBRARIES + (STOCK_JIT, OURS_JIT) * options.jit
    libraries += (STOCK_KERNELS,) * options.stock_kernels
    chosen = matching(all_cases, options.cases)
    facts = machine()
    print(facts, flush=True)
    print(report.header(any(case.second_target for case in chosen)), flush=True)
    rows: list[Row] = []
    stem = options.out / module.rsplit(".", 1)[-1]
    stem.parent.mkdir(parents=True, exist_ok=True)
    with servers_for(module, libraries) as servers:
        for case in chosen:
            row = None
            for n in case.sizes_within(plan.largest_n):
                row = compare(case, n, servers, plan, row)
                rows.append(row)
                print(report.line(row), flush=True)
                report.keep([row], facts, stem)  # now, in case a later row fails
    print(report.table_of_others(rows), flush=True)
    report.write(rows, facts, stem)
    return report.judge(rows)


def parser_for(program: str) -> argparse.ArgumentParser:
    """The options that all benchmarks have.

    Args:
      program: The command that runs the benchmark, for the help.

    Returns:
      The parser, to which the caller may add options.
    """
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--quick", action="store_true", help="small sizes, few runs")
    parser.add_argument("--largest", type=int, metavar="N", help="no larger sizes than N")
    parser.add_argument("--rounds", type=int, help="processes per library, however long they take")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS, help="folder for the results")
    parser.add_argument("cases", nargs="*", help="only cases with one of these in their names")
    return parser


def plan_for(options: argparse.Namespace) -> Plan:
    """The plan for the options of `parser_for`."""
    plan = QUICK if options.quick else FULL
    if options.rounds is not None:
        plan = dataclasses.replace(plan, rounds=options.rounds, row_s=math.inf)
    if options.largest is None:
        return plan
    return dataclasses.replace(plan, largest_n=options.largest, limit_s=FULL.limit_s)


def matching(all_cases: Iterable[Case], words: Sequence[str]) -> list[Case]:
    """The cases that have one of `words` in their names; all cases if there are no words."""
    return [case for case in all_cases if any(word in case.name for word in words or [""])]
