"""Writes the counters of this process to a file, for `python -m tensor_array_grad compare`."""

from __future__ import annotations

import atexit
import json
import os
import pathlib
import time

FOLDER = "TENSOR_ARRAY_GRAD_REPORTS"  # the environment variable that names the folder


def follow_environment() -> None:
    """Writes a report when the process ends, if the environment names a folder for it."""
    if FOLDER in os.environ:
        atexit.register(_write)


def _write() -> None:
    from tensor_array_grad.status import status

    path = pathlib.Path(os.environ[FOLDER], f"{os.getpid()}-{time.time_ns()}.json")
    if path.parent.is_dir():  # it does not exist any more if the comparison has ended
        path.write_text(json.dumps(status().counters))
