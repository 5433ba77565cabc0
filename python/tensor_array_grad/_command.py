"""How this process was started: the command line of the runner, and the switch in the environment.

This module does not import TensorFlow, because the runner does not always import it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence

USAGES = {
    "compare": "python -m tensor_array_grad compare [--runs N] [--jit] [--json] "
    "{script.py | -m module | -c code} [argument] ...",
    "explain": "python -m tensor_array_grad explain [--json] [--html FILE] [--all] "
    "{script.py | -m module | -c code | -} [argument] ...",
}
# Matches `-m tensor_array_grad` without the space. -m may end a group of flags, as in `-um`.
_RUN = re.compile(r"(-\w*)mtensor_array_grad(\.__main__|\.demo)?")


def interpreter_arguments() -> list[str] | None:
    """The arguments of the interpreter in front of `-m tensor_array_grad`.

    They are `["-W", "error", "-u"]` for `python -W error -um tensor_array_grad script.py`, and None
    if the interpreter runs something else.
    """
    command = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv[1:])]
    if command and not command[-1].startswith("-"):
        command[-2:] = ["".join(command[-2:])]
    match = _RUN.fullmatch(command[-1]) if command else None
    if match is None:
        return None
    flags = [] if match[1] == "-" else [match[1]]
    return [*command[:-1], *flags]


def runner(command: Sequence[str]) -> list[str]:
    """The command that runs `python command...` by the runner, with this interpreter's flags."""
    return [sys.executable, *(interpreter_arguments() or []), "-m", "tensor_array_grad", *command]


def parser(command: str, description: str) -> argparse.ArgumentParser:
    """A parser of the options of `command`, a key of USAGES."""
    return argparse.ArgumentParser(command, USAGES[command], description, allow_abbrev=False)


def parse(
    parser: argparse.ArgumentParser, arguments: list[str], with_value: tuple[str, ...]
) -> tuple[argparse.Namespace, list[str]]:
    """The options of `parser` in front of a program's command, and the command.

    Args:
      parser: Has the options. It ends this process if they are wrong, or if there is no command.
      arguments: The options and the command.
      with_value: The options that have a value.
    """
    count = 0
    while count < len(arguments) and (arguments[count] + " ").startswith(("--", "-h ")):
        count += 2 if arguments[count] in with_value else 1
    options = parser.parse_args(arguments[:count])
    if not arguments[count:]:
        parser.error("there is no program to run")
    return options, arguments[count:]


def is_runner_starting() -> bool:
    """Whether the interpreter is importing the package to run its `__main__` or that of the demo.

    Both run programs in other processes, and need no TensorFlow themselves.
    """
    return sys.argv[:1] == ["-m"] and interpreter_arguments() is not None


def switched_off() -> bool:
    """Whether `TENSOR_ARRAY_GRAD` in the environment is `off`, `0` or `false`."""
    return os.environ.get("TENSOR_ARRAY_GRAD", "").lower() in ("off", "0", "false")
