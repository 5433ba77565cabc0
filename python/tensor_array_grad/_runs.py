"""Runs a program in a child process, on stock or with this library, and measures it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence

from tensor_array_grad import _command, _compiled, _report

STOCK, OURS = "stock", "ours"
XLA = "ours, XLA"  # with the library and `jit_compile=True`
_TAIL = 2000  # characters of each stream of a program that failed
# Lines of standard error that say why a program failed under XLA, the most telling kind first.
_REASONS = (
    re.compile(r".*unsupported operations"),  # names the ops that XLA has no kernel for
    re.compile(r".*XLA.*\{\{node "),
    re.compile(r"XLA\b|[\w.]*Error: .*XLA"),
    re.compile(r"[\w.]*(Error|Exception|Interrupt)(:|$)"),  # the end of a traceback of Python
    re.compile(r""),
)
_LOGGED = re.compile(r"[IWEF]\d{4} |\d{4}-\d\d-\d\d |WARNING: ")  # a line of TensorFlow's log


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a program."""

    wall_s: float
    cpu_s: float  # of the process and of the child processes that it has waited for
    peak_bytes: int  # the highest resident memory of one process
    output: str  # standard output of the program
    errors: str = ""  # its standard error
    # The parts of `wall_s` and `cpu_s` before the first op; None if TensorFlow ran none.
    start_wall_s: float | None = None
    start_cpu_s: float | None = None

    @property
    def work_wall_s(self) -> float | None:
        """`wall_s` without the start."""
        return None if self.start_wall_s is None else self.wall_s - self.start_wall_s

    @property
    def work_cpu_s(self) -> float | None:
        """`cpu_s` without the start."""
        return None if self.start_cpu_s is None else self.cpu_s - self.start_cpu_s


class Failed(SystemExit):
    """The program ended with an exit status other than 0.

    If it is not caught, this process prints the message and ends with 1.

    Attributes:
      reason: The line of its standard error that says most, or how it ended.
    """

    def __init__(self, library: str, status: int, output: str, errors: str) -> None:
        ended = _ended(status)
        super().__init__(f"{library}: the program {ended}\n{output[-_TAIL:]}{errors[-_TAIL:]}")
        # What a program printed before a signal ended it need not be the reason.
        self.reason = (reason(errors) if status > 0 else "") or f"the program {ended}"


def run(command: Sequence[str], library: str, reports: pathlib.Path) -> Run:
    """Runs `python command...` once, with the flags of this interpreter.

    Its processes report in the folder `reports`. Raises `Failed` if the program ends with an exit
    status other than 0.
    """
    own = {"TENSOR_ARRAY_GRAD": "off"} if library == STOCK else {}
    own |= {_compiled.SWITCH: "1"} if library == XLA else {}
    ours = ("TENSOR_ARRAY_GRAD", _compiled.SWITCH)
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen(
            _command.runner(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=kept | own | {_report.FOLDER: str(reports)},
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
        texts = []
        for stream in (output, errors):
            stream.seek(0)
            texts.append(stream.read().decode(errors="backslashreplace"))
    if process.returncode != 0:
        raise Failed(library, process.returncode, *texts)
    cpu = usage.ru_utime + usage.ru_stime
    began = _report.start_of(process.pid, reports)
    starts_s = (began[0] - start, began[1]) if began else (None, None)
    return Run(wall, cpu, usage.ru_maxrss * 1024, texts[0], texts[1], *starts_s)


def reason(errors: str) -> str:
    """The line of a program's standard error that says most about why XLA refused the program.

    Messages of XLA have many lines, such as the stack of Python that made an op, and Keras puts
    lines that say little in front. If the line ends with a colon, the next one is added. What is
    in front of the first traceback of Python is left out. Empty if there is nothing but the log of
    TensorFlow.
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


def _ended(status: int) -> str:
    if status > 0:
        return f"ended with {status}"
    known = -status in set(signal.Signals)
    return f"was ended by {signal.Signals(-status).name if known else f'signal {-status}'}"
