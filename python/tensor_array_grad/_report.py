"""Writes what the library did in this process, for `python -m tensor_array_grad compare`.

Each process with the library has a file. It is empty until the process ends, so that the files tell
which processes ended without a report: those that a signal or `os._exit` ended, and forks, which
may not run TensorFlow's code any more and whose counters contain those of their parent.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pathlib
import time

FOLDER = "TENSOR_ARRAY_GRAD_REPORTS"  # the environment variable that names the folder
_file: pathlib.Path  # the report of this process


def follow_environment() -> None:
    """Writes a report when the process ends, if the environment names a folder for it."""
    if FOLDER in os.environ:
        _announce(pathlib.Path(os.environ[FOLDER]))
        atexit.register(_write)
        os.register_at_fork(after_in_child=_announce_fork)


def _announce(folder: pathlib.Path) -> None:
    global _file
    _file = folder / f"{os.getpid()}-{time.time_ns()}.json"
    with contextlib.suppress(OSError):  # the folder does not exist any more if the comparison ended
        _file.touch()


def _announce_fork() -> None:
    atexit.unregister(_write)
    _announce(_file.parent)


def _write() -> None:
    from tensor_array_grad import _compiled, _loader
    from tensor_array_grad.status import status

    page = status()
    inactive = "" if page.active else ". ".join(page.problems or (page.reason,))
    off = [f"{name} ({part.reason})" for name, part in page.parts.items() if not part.active]
    count, seconds = _loader.bind().xla_compilations() if _loader.is_loaded() else (0, 0.0)
    report = {
        "inactive": inactive,
        "parts_off": off * page.active,
        "counters": page.counters,
        "compilations": count,
        "compile_s": seconds,
        "jit_options_added": _compiled.options_added(),
    }
    if _file.parent.is_dir():
        _file.write_text(json.dumps(report))
