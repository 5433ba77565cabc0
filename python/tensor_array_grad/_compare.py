"""Runs the same program on stock and with this library, for `python -m tensor_array_grad compare`.

The runs alternate, each in a separate process: `python ARGUMENTS` with TENSOR_ARRAY_GRAD=off, and
`python -m tensor_array_grad ARGUMENTS`, which reports its counters (`_report`) when it ends, as its
child processes do.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from tensor_array_grad import _command, _report
from tensor_array_grad._counters import with_prefix

LIBRARIES = ("stock", "ours")
_USAGE = (
    "python -m tensor_array_grad compare [--runs N] [--json] "
    "script.py | -m module | -c code [argument] ..."
)
_MEGABYTE = 1_000_000


class Failed(Exception):
    """The program ended with an exit status other than 0."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of the program."""

    wall_s: float
    cpu_s: float  # of the process and of the child processes that it has waited for
    peak_bytes: int  # the highest resident memory of one process
    output: bytes  # standard output of the program


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of `compare`. Times are in seconds; each list has one entry per run."""

    runs: dict[str, list[Run]]  # by library: stock, ours
    counters: dict[str, int]  # of `status()`, summed over the processes of one run with the library

    @property
    def differs(self) -> bool:
        """Whether the output with the library differs, although all runs of stock agree."""
        stock, ours = ({run.output for run in self.runs[name]} for name in LIBRARIES)
        return len(stock) == 1 and ours != stock

    @property
    def output(self) -> str:
        """Says whether stock and this library printed the same on standard output."""
        stock, ours = ([run.output for run in self.runs[name]] for name in LIBRARIES)
        if self.differs:
            other = next(output for output in ours if output != stock[0])
            return "DIFFERS: " + _first_difference(stock[0], other)
        if len(set(stock)) > 1:
            return "differs, between two runs of stock as well"
        return "the same in all runs"

    @property
    def loops_left(self) -> dict[str, int]:
        """How many loops were left to TensorFlow's executor, by reason."""
        return with_prefix(self.counters, "loops.left.")

    @property
    def rewrites(self) -> dict[str, int]:
        """How often the graph pass applied each rule."""
        return with_prefix(self.counters, "graph.")

    def median(self, library: str, figure: str) -> float:
        """The median of `wall_s`, `cpu_s` or `peak_bytes` over the runs of a library."""
        return float(statistics.median(getattr(run, figure) for run in self.runs[library]))

    def to_json(self) -> str:
        """The figures as JSON: a list per library and figure, and the library's counters."""
        figures = ("wall_s", "cpu_s", "peak_bytes")
        return json.dumps(
            {
                name: {figure: [getattr(run, figure) for run in runs] for figure in figures}
                for name, runs in self.runs.items()
            }
            | {
                "output": self.output,
                "loops_in_one_kernel": self.counters.get("loops.prepared", 0),
                "loops_left": self.loops_left,
                "rewrites": self.rewrites,
            }
        )

    def __str__(self) -> str:
        rows = [("", "stock", "ours", "stock / ours")]
        rows += [self._row("wall time", "wall_s", _seconds)]
        rows += [self._row("processor time", "cpu_s", _seconds)]
        rows += [self._row("peak memory", "peak_bytes", _megabytes)]
        lines = [f"{name:22}{stock:>12}{ours:>12}{ratio:>14}" for name, stock, ours, ratio in rows]
        return "\n".join([*lines, f"{'output':22}  {self.output}", *self._reasons()])

    def _row(
        self, name: str, figure: str, shown: Callable[[float], str]
    ) -> tuple[str, str, str, str]:
        stock, ours = (self.median(library, figure) for library in LIBRARIES)
        return name, shown(stock), shown(ours), f"{stock / ours:.2f}" if ours else "-"

    def _reasons(self) -> list[str]:
        """The lines that say why the library helps this program, or why it does not."""
        if not self.counters:
            return ["The library was not loaded: the program did not import TensorFlow."]
        prepared = self.counters.get("loops.prepared", 0)
        lines = [f"{'loops in one kernel':22}  {prepared}"]
        lines += [f"{'loops left to stock':22}  {n}: {why}" for why, n in self.loops_left.items()]
        lines += [f"{'rewritten: ' + rule:22}  {n}" for rule, n in self.rewrites.items() if n]
        if prepared == 0 and not any(with_prefix(self.counters, "kernels.").values()):
            lines += ["No kernel of the library ran: it does not change this program."]
        return lines


def main(arguments: list[str]) -> int:
    """Runs `python -m tensor_array_grad compare arguments...`.

    Args:
      arguments: Options, then the arguments for the interpreter that runs the program.

    Returns:
      The exit status: 0; 1 if the program failed or printed something else with the library; 2 if
      the arguments are wrong.
    """
    options, command = _parse(arguments)
    try:
        found = compare(command, options.runs)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    print(found.to_json() if options.json else found)
    return 1 if found.differs else 0


def compare(command: Sequence[str], runs: int) -> Comparison:
    """Runs `python command...` on stock and with the library, `runs` times each, in turn.

    Progress is printed on standard error.

    Raises:
      Failed: A run ended with an exit status other than 0.
    """
    found: dict[str, list[Run]] = {name: [] for name in LIBRARIES}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number in range(runs):
            for library in LIBRARIES[:: 1 if number % 2 == 0 else -1]:
                run = _run(command, library, folder)
                found[library].append(run)
                print(f"{library}, run {number + 1} of {runs}: {run.wall_s:.2f} s", file=sys.stderr)
        total: collections.Counter[str] = collections.Counter()
        for report in folder.glob("*.json"):
            total.update(json.loads(report.read_text()))
    return Comparison(found, {name: round(count / runs) for name, count in total.items()})


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options in front of the command, and the command."""
    parser = argparse.ArgumentParser(
        "compare", _USAGE, "Compares a program on stock and on this library.", allow_abbrev=False
    )
    parser.add_argument("--runs", type=int, default=3, help="runs on each library (default: 3)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    count = 0
    while count < len(arguments) and arguments[count].startswith("--"):
        count += 2 if arguments[count] == "--runs" else 1
    options = parser.parse_args(arguments[:count])
    if options.runs < 1:
        parser.error(f"--runs must be at least 1, got {options.runs}")
    if not arguments[count:]:
        parser.error("there is no program to run")
    return options, arguments[count:]


def _run(command: Sequence[str], library: str, reports: pathlib.Path) -> Run:
    flags = _command.interpreter_arguments() or []
    runner = [] if library == "stock" else ["-m", "tensor_array_grad"]
    own = {"TENSOR_ARRAY_GRAD": "off"} if library == "stock" else {_report.FOLDER: str(reports)}
    kept = {k: v for k, v in os.environ.items() if k not in ("TENSOR_ARRAY_GRAD", _report.FOLDER)}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *flags, *runner, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=kept | own,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            tail = errors.read()[-2000:].decode(errors="replace")
            raise Failed(f"{library}: the program ended with {process.returncode}\n{tail}")
        cpu = usage.ru_utime + usage.ru_stime
        return Run(wall, cpu, usage.ru_maxrss * 1024, output.read())


def _first_difference(stock: bytes, ours: bytes) -> str:
    lines = [output.decode(errors="replace").splitlines() for output in (stock, ours)]
    pairs = zip(*lines, strict=False)
    same = next((i for i, (mine, theirs) in enumerate(pairs) if mine != theirs), None)
    if same is None:
        return f"stock printed {len(lines[0])} lines, ours {len(lines[1])}"
    return f"line {same + 1} is {lines[0][same]!r} on stock and {lines[1][same]!r} on ours"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s"


def _megabytes(size: float) -> str:
    return f"{size / _MEGABYTE:,.0f} MB"
