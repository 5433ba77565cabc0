"""Runs the same program on stock and with this library, for `python -m tensor_array_grad compare`.

The runs alternate, each in a separate process (`_runs`): `python -m tensor_array_grad ARGUMENTS`
with TENSOR_ARRAY_GRAD=off and without. The latter reports what the library did (`_report`) when it
ends, as its child processes do. With `--jit`, the program also runs with
the library and XLA. The demonstration compares a program of its own in the same way.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence

from tensor_array_grad import _command, _runs
from tensor_array_grad._comparison import Comparison
from tensor_array_grad._report import Reports
from tensor_array_grad._runs import OURS, STOCK, XLA


def main(arguments: list[str]) -> int:
    """Runs `python -m tensor_array_grad compare arguments...`.

    Returns:
      The exit status: 0, or 1 if the program printed something else with the library, or if the
      library was not active.

    Raises:
      SystemExit: The program failed (1); the arguments are wrong (2); or a signal ended the
        comparison (128 and its number).
    """
    options, command = _parse(arguments)
    exit_at_signals()
    found = compare(command, options.runs, options.jit)
    print(found.to_json() if options.json else found)
    return found.exit_status


def exit_at_signals() -> None:
    """Makes a signal end this process with a status, after the program that runs.

    The exception that a signal raises from now on ends that program, with its child processes.
    """
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(each) != signal.SIG_IGN:  # as of `nohup`
            signal.signal(each, lambda number, _: sys.exit(128 + number))


def compare(command: Sequence[str], runs: int, jit: bool = False) -> Comparison:
    """Runs `python command...` on stock and with the library, `runs` times each, in turn.

    With `jit`, also with the library and XLA. If such a run fails, it is left out, and so are those
    after it; the earlier ones count. Another run that fails raises `_runs.Failed`.

    If there is one run each and an output differs, stock runs once more, because its output may
    differ by itself. Progress is printed on standard error.
    """
    found: dict[str, list[_runs.Run]] = {name: [] for name in (STOCK, OURS) + (XLA,) * jit}
    refusal = ""
    with tempfile.TemporaryDirectory() as name:
        folders = {library: pathlib.Path(name, library) for library in found}
        for number in range(runs):
            for library in list(found)[:: 1 if number % 2 == 0 else -1]:
                if library == XLA and refusal:
                    continue
                reports = folders[library] / str(number)
                reports.mkdir(parents=True)
                try:
                    run = _runs.run(command, library, reports)
                except _runs.Failed as error:
                    if library != XLA:
                        raise
                    refusal = error.reason
                    shutil.rmtree(reports, ignore_errors=True)
                    continue
                found[library].append(run)
                print(f"{library}, run {number + 1} of {runs}: {run.wall_s:.2f} s", file=sys.stderr)
        compiled = Reports.read(folders[XLA], max(1, len(found[XLA]))) if jit else None
        ended_well = {library: tuple(held) for library, held in found.items() if held}
        comparison = Comparison(ended_well, Reports.read(folders[OURS], runs), compiled, refusal)
        if runs == 1 and any(comparison.differs(library) for library in ended_well):
            again = _runs.run(command, STOCK, folders[STOCK])
            runs_of = ended_well | {STOCK: (*ended_well[STOCK], again)}
            comparison = dataclasses.replace(comparison, runs=runs_of)
    return comparison


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options in front of the command, and the command."""
    parser = _command.parser("compare", "Compares a program on stock and on this library.")
    parser.add_argument("--runs", type=int, default=3, help="runs on each library (default: 3)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--jit", action="store_true", help="run the program compiled by XLA too, with the library"
    )
    options, command = _command.parse(parser, arguments, ("--runs",))
    if options.runs < 1:
        parser.error(f"--runs must be at least 1, got {options.runs}")
    if command[0] == "-":
        parser.error("the program cannot come from standard input, because it runs several times")
    return options, command
