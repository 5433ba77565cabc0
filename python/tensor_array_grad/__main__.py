"""The runner: `python -m tensor_array_grad script.py args...` runs a script with the library.

The runner sets TENSOR_ARRAY_GRAD=on and replaces its process by the same interpreter with the
arguments that follow, which can be anything that `python` takes. The script therefore has its own
`__main__`, flags and exit, and the library is enabled in its child processes too. Without
arguments, the runner prints the status, and exits with 1 if something is wrong. With `compare` in
front of the script, it runs the script on stock and with the library, and prints the differences;
with `explain`, it runs the script once, and explains its loops.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import site
import sys

from tensor_array_grad import _command, _report
from tensor_array_grad._version import __version__

_USAGE = (
    "usage: python -m tensor_array_grad [option of python] ... "
    "{script.py | -m module | -c code | -} [argument] ...\n"
    f"       {_command.USAGES['compare']}\n"
    f"       {_command.USAGES['explain']}\n"
    "       python -m tensor_array_grad [--help | --version]"
)
_HELP = f"""{_USAGE}

The first form runs a Python program with the library, without a change to the program. The second
runs it on stock TensorFlow and with the library in turn, and compares times, memory and output. The
third runs it once, and shows where its loops run, how long they take, and what to change.
Without arguments, prints versions, kernels and problems; exit status 1 if something is wrong.

environment:
  TENSOR_ARRAY_GRAD=off    keeps TensorFlow's own kernels
  TENSOR_ARRAY_GRAD_LOG=1  prints for each loop what was rewritten and where the loop runs"""
# A group of flags, the last of which may take a value: `-u`, `-Im`, `-X`, `-Werror`. Not `-` alone.
_FLAGS = re.compile(r"-(?=.)([A-Za-z]*?)([cmWX].*)?", re.DOTALL)
_SITE = pathlib.Path(__file__).resolve().parent / "_site"


def main(arguments: list[str]) -> int:
    """Replaces the process by `python arguments...` with the library enabled, or prints the status.

    Args:
      arguments: What follows `python -m tensor_array_grad` on the command line.

    Returns:
      The exit status: 0, or 1 if the library cannot be used. Does not return if the interpreter is
      to run `arguments`.
    """
    if arguments in (["-h"], ["--help"]):
        print(_HELP)
        return 0
    if arguments in (["-V"], ["--version"]):
        return _print_version()
    if arguments[:1] == ["compare"]:
        from tensor_array_grad import _compare  # running a script does not need it

        return _compare.main(arguments[1:])
    if arguments[:1] == ["explain"]:
        from tensor_array_grad import _explain

        return _explain.main(arguments[1:])
    if not arguments:
        return _print_status()
    if _command.switched_off() and _report.FOLDER not in os.environ:
        print("tensor_array_grad is inactive: TENSOR_ARRAY_GRAD=off", file=sys.stderr)
    elif not _command.switched_off():
        os.environ["TENSOR_ARRAY_GRAD"] = "on"
    command = [*(_command.interpreter_arguments() or []), *arguments]
    flag = _flag_that_prevents(command)
    if flag:
        print(
            f"tensor_array_grad: `python {flag}` does not read what enables the library when "
            f"Python starts. Leave out {flag}"
            + ("" if flag == "-S" or _where_pth_is() else ", or install with pip"),
            file=sys.stderr,
        )
        return 1
    if not _where_pth_is():
        before = filter(None, [os.environ.get("PYTHONPATH")])
        os.environ["PYTHONPATH"] = os.pathsep.join([str(_SITE), *before])
    os.execv(sys.executable, [sys.executable, *command])


def _print_version() -> int:
    try:
        import tensorflow as tf
    except ImportError as error:
        print(f"tensor_array_grad {__version__}, and TensorFlow cannot be imported: {error}")
        return 1
    print(f"tensor_array_grad {__version__}, TensorFlow {tf.__version__}")
    return 0


def _print_status() -> int:
    print(_USAGE + "\n")
    if importlib.util.find_spec("tensorflow") is None:
        return _print_version()
    from tensor_array_grad import _loader, drop_in
    from tensor_array_grad.status import status

    try:
        drop_in.enable()
    except _loader.LoadError as error:
        print(error, file=sys.stderr)
        print(status())
        return 1
    page = status()
    print(page)
    return 1 if page.problems else 0


def _where_pth_is() -> str:
    """Where an interpreter that starts like this one finds the .pth file that pip installs.

    "site" is the folder of the interpreter's packages, "user" that of the user's packages, and ""
    means that the interpreter does not read the file.
    """
    folders = {"site": site.getsitepackages()}
    if site.ENABLE_USER_SITE:
        folders["user"] = [site.getusersitepackages()]
    for where, of_kind in folders.items():
        if any(pathlib.Path(folder, "tensor_array_grad.pth").exists() for folder in of_kind):
            return where
    return ""


def _flag_that_prevents(command: list[str]) -> str:
    """The flag in `command` that makes Python start without the library; "" if there is none.

    With -S, Python reads no .pth file and no `sitecustomize`. With -s and -I, it ignores the
    packages of the user. With -E and -I, it ignores PYTHONPATH.
    """
    harmful = {"site": "S", "user": "SsI", "": "SEI"}[_where_pth_is()]
    rest = iter(command)
    for argument in rest:
        match = _FLAGS.fullmatch(argument)
        if match is None:
            return ""
        letters, option = match.groups()
        found = [letter for letter in letters if letter in harmful]
        if found:
            return f"-{found[0]}"
        if option in ("W", "X"):
            next(rest, None)  # its value
        elif option and option[0] in "cm":
            return ""
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
