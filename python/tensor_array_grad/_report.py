"""What the processes of a comparison report to it, in files of a folder.

Each process notes when its own work begins: when TensorFlow runs its first op or makes a Session.
Before that, it imports Python packages, which takes seconds and which no library can make faster.

Each process with the library also reports at its end what the library did. Its file is empty until
then, so that the files tell which processes ended without a report: those that a signal or
`os._exit` ended, and forks, which may not run TensorFlow's code any more and whose counters contain
those of their parent.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import time

from tensor_array_grad import _command, _compiled

FOLDER = "TENSOR_ARRAY_GRAD_REPORTS"  # the environment variable that names the folder
_file: pathlib.Path  # the report of this process


def follow_environment() -> None:
    """Reports on this process, if the environment names a folder for it."""
    if FOLDER not in os.environ:
        return
    from tensor_array_grad import _tf_private  # not at the top: `compare` does not load it

    folder = pathlib.Path(os.environ[FOLDER])
    _tf_private.call_before_first_op(lambda: _note_start(folder))
    if not _command.switched_off():
        _announce(folder)
        atexit.register(_write)
        os.register_at_fork(after_in_child=_announce_fork)


def _note_start(folder: pathlib.Path) -> None:
    with contextlib.suppress(OSError):  # the folder does not exist any more if the comparison ended
        times = f"{time.monotonic()} {time.process_time()}"
        (folder / f"{os.getpid()}.start").write_text(times)


def start_of(process: int, folder: pathlib.Path) -> tuple[float, float] | None:
    """When a process began its own work: `time.monotonic`, and its processor time.

    None if it ran no op, and made no Session.
    """
    file = folder / f"{process}.start"
    if not file.exists():
        return None
    wall, processor = file.read_text().split()
    return float(wall), float(processor)


def _announce(folder: pathlib.Path) -> None:
    global _file
    _file = folder / f"{os.getpid()}-{time.time_ns()}.json"
    with contextlib.suppress(OSError):
        _file.touch()


def _announce_fork() -> None:
    atexit.unregister(_write)
    _announce(_file.parent)


def _write() -> None:
    from tensor_array_grad import _loader, observer
    from tensor_array_grad.status import status

    page = status()
    inactive = "" if page.active else ". ".join(page.problems or (page.reason,))
    off = [f"{name} ({part.reason})" for name, part in page.parts.items() if not part.active]
    count, seconds = _loader.bind().xla_compilations() if _loader.is_loaded() else (0, 0.0)
    report = {
        "inactive": inactive,
        "parts_off": off * page.active,
        # Only after a loop: to ask for the number makes TensorFlow look for devices.
        "threads": observer.threads() if page.counters.get("loops.prepared") else 0,
        "counters": page.counters,
        "compilations": count,
        "compile_s": seconds,
        "jit_options_added": _compiled.options_added(),
    }
    if _file.parent.is_dir():
        _file.write_text(json.dumps(report))


@dataclasses.dataclass(frozen=True)
class Reports:
    """What the processes with the library reported: the mean of all runs."""

    processes: int = 0  # that had the library
    silent: int = 0  # of these, that ended without a report
    inactive: tuple[str, ...] = ()  # why the library was not active, in the processes where so
    parts_off: tuple[str, ...] = ()  # parts that were not active in a process where others were
    # Those of `status()`, added up.
    counters: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    threads: int = 0  # for independent ops, in the process that had most
    compilations: int = 0  # by XLA
    compile_s: float = 0.0  # seconds that they took
    jit_options_added: int = 0  # functions and Keras models that `_compiled` has compiled

    @staticmethod
    def read(folder: pathlib.Path, runs: int) -> Reports:
        """Reads the reports of `runs` runs, from `folder` and the folders in it."""
        texts = [path.read_text() for path in folder.rglob("*.json")]
        reports = [json.loads(text) for text in texts if text]
        total: collections.Counter[str] = collections.Counter()
        for report in reports:
            total.update(report["counters"])
        return Reports(
            math.ceil(len(texts) / runs),  # one process in any run is not hidden
            math.ceil((len(texts) - len(reports)) / runs),
            tuple(sorted({report["inactive"] for report in reports} - {""})),
            tuple(sorted({part for report in reports for part in report["parts_off"]})),
            collections.Counter({name: round(count / runs) for name, count in total.items()}),
            max((report["threads"] for report in reports), default=0),
            round(sum(report["compilations"] for report in reports) / runs),
            sum(report["compile_s"] for report in reports) / runs,
            math.ceil(sum(report["jit_options_added"] for report in reports) / runs),
        )
