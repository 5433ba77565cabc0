"""`python -m tensor_array_grad script.py args...` runs a script with the library enabled.

Also `-m module args...` and `-c code args...`, as the interpreter has them. Alone it prints the
status, and exits with 1 when something is wrong.
"""

from __future__ import annotations

import os
import runpy
import sys
import types

import tensor_array_grad

_USAGE = "usage: python -m tensor_array_grad [script.py | -m module | -c code] [args...]"


def main(arguments: list[str]) -> int:
    """Enables the library and runs what `arguments` name, or prints the status.

    Args:
      arguments: What follows `python -m tensor_array_grad` on the command line.

    Returns:
      The exit status: 0, 1 when the library cannot be used, 2 for a wrong command line.
    """
    if arguments[:1] in (["-h"], ["--help"]):
        print(_USAGE)
        return 0
    if arguments in (["-m"], ["-c"]):
        print(_USAGE, file=sys.stderr)
        return 2
    try:
        tensor_array_grad.enable()
    except tensor_array_grad.LoadError as error:
        print(error, file=sys.stderr)
        if not arguments:
            print(tensor_array_grad.status())
        return 1
    if arguments:
        _run(arguments)
        return 0
    status = tensor_array_grad.status()
    print(status)
    return 1 if status.problems else 0


def _run(arguments: list[str]) -> None:
    """Runs a script, module or code as `__main__`, with its own `sys.argv` and import path."""
    first, *rest = arguments
    if first == "-m":
        sys.argv = rest
        sys.path[0] = os.getcwd()  # noqa: PTH109  (sys.path holds strings)
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path[0] = ""
        main_module = types.ModuleType("__main__")
        sys.modules["__main__"] = main_module
        exec(compile(rest[0], "<string>", "exec"), main_module.__dict__)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(first))  # noqa: PTH100, PTH120
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
