"""Explains the loops of a program, for `python -m tensor_array_grad explain`.

The program runs in a child process: `python -m tensor_array_grad ARGUMENTS`, with a folder in the
environment. Each process of it that loads the library observes its loops from the time when
TensorFlow has been imported, and writes them into the folder when it ends. A process that a signal
or `os._exit` ends, or that was forked, writes nothing.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import TextIO

from tensor_array_grad import _command, _page
from tensor_array_grad.explained import Loops

FOLDER = "TENSOR_ARRAY_GRAD_EXPLAIN"  # the environment variable that names the folder


def follow_environment() -> None:
    """Observes this process to its end, if the environment names a folder for the result."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    from tensor_array_grad import drop_in, observer

    if not drop_in.is_enabled():
        return
    observed, process = observer.explain(), os.getpid()
    loops = observed.__enter__()

    def end() -> None:
        if os.getpid() != process:  # a fork, which has the counts of its parent
            return
        observed.__exit__(None, None, None)
        with contextlib.suppress(OSError):  # the folder is gone if the parent has ended
            written = pathlib.Path(folder, f"{process}-{time.time_ns()}")
            written.write_text(loops.to_json())
            written.rename(f"{written}.json")  # a file of this name is complete

    atexit.register(end)


def main(arguments: list[str]) -> int:
    """Runs `python -m tensor_array_grad explain arguments...`.

    The program has this process's input and output. The table goes to standard error after it. With
    `--json`, the JSON goes to standard output, and what the program prints to standard error.

    Returns:
      The program's exit status; 128 and its number if a signal ended it.

    Raises:
      SystemExit: The arguments are wrong (2).
    """
    options, command = _parse(arguments)
    with tempfile.TemporaryDirectory() as folder:
        status = _run(command, folder, sys.stderr if options.json else None)
        texts = [path.read_text() for path in sorted(pathlib.Path(folder).glob("*.json"))]
    loops = Loops.of_processes(texts)
    if options.json:
        print(loops.to_json())
    if not texts:
        print("No process that ended had the library, so nothing was observed.", file=sys.stderr)
    elif not options.json:
        print(loops.to_text(options.all), file=sys.stderr)
    if options.html:
        pathlib.Path(options.html).write_text(_page.page(loops, command), "utf-8", "replace")
    return status


def _run(command: list[str], folder: str, output: TextIO | None) -> int:
    """Runs the program, and passes on the signals that another process sends to this one.

    A signal of the terminal, such as that of Ctrl-C, reaches the program without this.
    """
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the system does not send it if it is ignored
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    process = subprocess.Popen(
        _command.runner(command),
        stdout=output,
        env=os.environ | {FOLDER: folder},
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
    )
    while process.poll() is None:
        received = signal.sigwaitinfo(signals)
        if received.si_signo != signal.SIGCHLD and received.si_code <= 0:  # not of the kernel
            process.send_signal(received.si_signo)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    status = process.returncode
    return 128 - status if status < 0 else status


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options in front of the command, and the command."""
    parser = _command.parser("explain", "Runs a program with the library and explains its loops.")
    parser.add_argument("--json", action="store_true", help="print the loops as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a page with the lines of the program")
    parser.add_argument("--all", action="store_true", help="show loops that take little time, too")
    options, command = _command.parse(parser, arguments, ("--html",))
    if options.html and not (folder := pathlib.Path(options.html).absolute().parent).is_dir():
        parser.error(f"--html: there is no directory {folder}")
    try:
        if options.html:
            pathlib.Path(options.html).open("a").close()
    except OSError as error:  # now, not after a long run
        parser.error(f"--html: {error}")
    return options, command
