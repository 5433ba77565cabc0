"""Notes when a program's own work begins: when TensorFlow runs its first op or makes a Session.

Before that, a program imports Python packages, which takes seconds and which no library can make
faster. `compare` therefore shows this time apart.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import time

FOLDER = "TENSOR_ARRAY_GRAD_START"  # the environment variable that names the folder


def follow_environment() -> None:
    """Notes the times, if the environment names a folder for them."""
    folder = os.environ.get(FOLDER)
    if folder:
        from tensor_array_grad import _tf_private  # not at the top: `compare` does not need it

        _tf_private.call_before_first_op(lambda: _write(pathlib.Path(folder)))


def _write(folder: pathlib.Path) -> None:
    with contextlib.suppress(OSError):  # the folder is gone if the comparison has ended
        text = f"{time.monotonic()} {time.process_time()}"
        pathlib.Path(folder, str(os.getpid())).write_text(text)


def read(folder: pathlib.Path, process: int) -> tuple[float, float] | None:
    """When the process `process` began its own work: `time.monotonic`, and its processor time.

    None if it ran no op, and made no Session.
    """
    file = folder / str(process)
    if not file.exists():
        return None
    wall, processor = file.read_text().split()
    return float(wall), float(processor)
