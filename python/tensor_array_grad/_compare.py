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
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from tensor_array_grad import _command, _compiled, _report
from tensor_array_grad._comparison import LIBRARIES, XLA, Comparison, Reports, Run

_TAIL = 2000  # bytes of each stream of a program that failed
# Lines of standard error that say why a program failed under XLA, the most telling kind first.
_REASONS = (
    re.compile(r".*unsupported operations"),  # names the ops that XLA has no kernel for
    re.compile(r".*XLA.*\{\{node "),
    re.compile(r"XLA\b|[\w.]*Error: .*XLA"),
    re.compile(r"[\w.]*(Error|Exception|Interrupt)(:|$)"),  # the end of a traceback of Python
    re.compile(r""),
)
_LOGGED = re.compile(r"[IWEF]\d{4} |\d{4}-\d\d-\d\d |WARNING: ")  # a line of TensorFlow's log


class Failed(Exception):
    """The program ended with an exit status other than 0.

    Attributes:
      reason: The line of its standard error that says most, or how it ended.
    """

    def __init__(self, library: str, status: int, output: bytes, errors: bytes) -> None:
        tails = b"".join(stream[-_TAIL:] for stream in (output, errors))
        super().__init__(
            f"{library}: the program {_ended(status)}\n" + tails.decode(errors="backslashreplace")
        )
        # What a program printed before a signal ended it need not be the reason.
        text = errors.decode(errors="backslashreplace") if status > 0 else ""
        self.reason = reason(text) or f"the program {_ended(status)}"


def reason(errors: str) -> str:
    """The line of a program's standard error that says most about why XLA refused the program.

    Messages of XLA have many lines, such as the stack of Python that made an op, and Keras puts
    lines that say little in front. If the line ends with a colon, the next one is added. What is
    in front of the first traceback of Python is left out.

    Returns:
      The line; empty if the program printed nothing but the log of TensorFlow.
    """
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    traceback = next((i for i, line in enumerate(lines) if line.startswith("Traceback (")), 0)
    lines = [line for line in lines[traceback:] if not _LOGGED.match(line)]
    for pattern in _REASONS:
        found = [i for i, line in enumerate(lines) if pattern.match(line)]
        if found:
            count = 2 if lines[found[-1]].endswith(":") else 1
            return " ".join(lines[found[-1] : found[-1] + count])
    return ""


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

    If there is one run each and an output differs, stock runs once more, because its output may
    differ by itself. Progress is printed on standard error.

    Args:
      command: The arguments of `python`.
      runs: How many times each library runs the program.
      jit: Whether to run it with the library and XLA too. If one of these runs fails, it is left
        out, and so are those after it; the earlier ones count.

    Raises:
      Failed: A run ended with an exit status other than 0, on stock or with the library.
    """
    found: dict[str, list[Run]] = {name: [] for name in LIBRARIES + (XLA,) * jit}
    refusal = ""
    with tempfile.TemporaryDirectory() as name:
        folders = {library: pathlib.Path(name, str(i)) for i, library in enumerate(found)}
        for number in range(runs):
            for library in list(found)[:: 1 if number % 2 == 0 else -1]:
                if library == XLA and refusal:
                    continue
                reports = folders[library] / str(number)
                reports.mkdir(parents=True)
                try:
                    run = _run(command, library, reports)
                except Failed as error:
                    if library != XLA:
                        raise
                    refusal = error.reason
                    shutil.rmtree(reports, ignore_errors=True)
                    continue
                found[library].append(run)
                print(f"{library}, run {number + 1} of {runs}: {run.wall_s:.2f} s", file=sys.stderr)
        compiled = Reports.read(folders[XLA], max(1, len(found[XLA]))) if jit else None
        ended_well = {library: held for library, held in found.items() if held}
        comparison = Comparison(ended_well, Reports.read(folders["ours"], runs), compiled, refusal)
        if runs == 1 and (comparison.differs or comparison.compiled_differs):
            found["stock"].append(_run(command, "stock", folders["stock"]))
    return comparison


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
            raise Failed(library, process.returncode, output.read(), errors.read())
        text = output.read().decode(errors="backslashreplace")
        return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, text)


def _ended(status: int) -> str:
    if status > 0:
        return f"ended with {status}"
    known = -status in set(signal.Signals)
    return f"was ended by {signal.Signals(-status).name if known else f'signal {-status}'}"
