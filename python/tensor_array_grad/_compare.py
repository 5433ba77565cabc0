"""Runs the same program on stock and with this library, for `python -m tensor_array_grad compare`.

The runs alternate, each in a separate process: `python ARGUMENTS` with TENSOR_ARRAY_GRAD=off, and
`python -m tensor_array_grad ARGUMENTS`, which reports what the library did (`_report`) when it
ends, as its child processes do. With `--jit`, the program also runs with the library and XLA.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from tensor_array_grad import _command, _compiled, _report
from tensor_array_grad._comparison import LIBRARIES, XLA, Comparison, Reports, Run

_TAIL = 2000  # bytes of each stream of a program that failed
_ERROR = re.compile(r"[\w.]*(Error|Exception|Interrupt)\b")


class Failed(Exception):
    """The program ended with an exit status other than 0."""


def main(arguments: list[str]) -> int:
    """Runs `python -m tensor_array_grad compare arguments...`.

    Args:
      arguments: Options, then the arguments for the interpreter that runs the program.

    Returns:
      The exit status: 0; 1 if the program failed, if it printed something else with the library, or
      if the library was not active; 2 if the arguments are wrong; 128 and the number of a signal
      that ended it.
    """
    options, command = _parse(arguments)
    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(each) != signal.SIG_IGN:  # as of `nohup`
            signal.signal(each, lambda number, _: sys.exit(128 + number))
    try:
        found = compare(command, options.runs, options.jit)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    print(found.to_json() if options.json else found)
    return 1 if found.differs or found.reports.inactive else 0


def compare(command: Sequence[str], runs: int, jit: bool = False) -> Comparison:
    """Runs `python command...` on stock and with the library, `runs` times each, in turn.

    If there is one run each and the outputs differ, stock runs once more, because its output may
    differ by itself. Progress is printed on standard error.

    Args:
      command: The arguments of `python`.
      runs: How many times each library runs the program.
      jit: Whether to run it with the library and XLA too. If the first of these runs fails, the
        others are left out.

    Raises:
      Failed: A run ended with an exit status other than 0, on stock or with the library.
    """
    found: dict[str, list[Run]] = {name: [] for name in LIBRARIES + (XLA,) * jit}
    refusal = ""
    with tempfile.TemporaryDirectory() as name:
        folders = {library: pathlib.Path(name, str(i)) for i, library in enumerate(found)}
        for folder in folders.values():
            folder.mkdir()
        for number in range(runs):
            for library in list(found)[:: 1 if number % 2 == 0 else -1]:
                try:
                    run = _run(command, library, folders[library])
                except Failed as error:
                    if library != XLA:
                        raise
                    refusal = _first_error(str(error))
                    del found[XLA]
                    continue
                found[library].append(run)
                print(f"{library}, run {number + 1} of {runs}: {run.wall_s:.2f} s", file=sys.stderr)
        compiled = Reports.read(folders[XLA], runs) if jit else None
        comparison = Comparison(found, Reports.read(folders["ours"], runs), compiled, refusal)
        if runs == 1 and comparison.differs:
            found["stock"].append(_run(command, "stock", folders["stock"]))
    return comparison


def _first_error(text: str) -> str:
    """The last line of `text` that names an error of Python, or the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines)[-1 if errors else 0]


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options in front of the command, and the command."""
    parser = argparse.ArgumentParser(
        "compare",
        _command.COMPARE_USAGE,
        "Compares a program on stock and on this library.",
        allow_abbrev=False,
    )
    parser.add_argument("--runs", type=int, default=3, help="runs on each library (default: 3)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--jit", action="store_true", help="run the program compiled by XLA too, with the library"
    )
    count = 0
    while count < len(arguments) and (arguments[count] + " ").startswith(("--", "-h ")):
        count += 2 if arguments[count] == "--runs" else 1
    options = parser.parse_args(arguments[:count])
    command = arguments[count:]
    if options.runs < 1:
        parser.error(f"--runs must be at least 1, got {options.runs}")
    if not command:
        parser.error("there is no program to run")
    if command[0] == "-":
        parser.error("the program cannot come from standard input, because it runs several times")
    return options, command


def _run(command: Sequence[str], library: str, reports: pathlib.Path) -> Run:
    flags = _command.interpreter_arguments() or []
    runner = [] if library == "stock" else ["-m", "tensor_array_grad"]
    own = {"TENSOR_ARRAY_GRAD": "off"} if library == "stock" else {_report.FOLDER: str(reports)}
    own |= {_compiled.SWITCH: "1"} if library == XLA else {}
    ours = ("TENSOR_ARRAY_GRAD", _report.FOLDER, _compiled.SWITCH)
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *flags, *runner, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=kept | own,
            start_new_session=True,  # it can be ended with its child processes
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            tails = b"".join(stream.read()[-_TAIL:] for stream in (output, errors))
            raise Failed(
                f"{library}: the program {_ended(process.returncode)}\n"
                + tails.decode(errors="backslashreplace")
            )
        text = output.read().decode(errors="backslashreplace")
        return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, text)


def _ended(status: int) -> str:
    if status > 0:
        return f"ended with {status}"
    known = -status in set(signal.Signals)
    return f"was ended by {signal.Signals(-status).name if known else f'signal {-status}'}"
