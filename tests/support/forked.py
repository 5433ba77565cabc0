"""Runs each program of a folder in a process of its own, in which TensorFlow is already imported.

    python forked.py FOLDER

Each process is a fork of this one, which takes milliseconds, where an import takes seconds. What
`x.py` prints is written to `x.out` and `x.err`. Prints the exit statuses by name, in JSON: if a
signal ended a process, its status is the negative number of the signal.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import runpy
import signal
import sys
import traceback

import tensorflow as tf  # noqa: F401

_TIME_LIMIT_S = 60  # then SIGALRM ends the process
_ADDRESS_SPACE = 12 << 30  # bytes


def _run(program: pathlib.Path) -> None:
    for stream, suffix in (1, ".out"), (2, ".err"):
        os.dup2(os.open(program.with_suffix(suffix), os.O_WRONLY | os.O_CREAT), stream)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(_TIME_LIMIT_S)
    status = 1
    try:
        runpy.run_path(str(program), run_name="__main__")
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)  # a normal exit takes TensorFlow seconds


def main() -> None:
    statuses = {}
    for program in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
        process = os.fork()
        if process == 0:
            _run(program)
        statuses[program.stem] = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    json.dump(statuses, sys.stdout)


if __name__ == "__main__":
    main()
