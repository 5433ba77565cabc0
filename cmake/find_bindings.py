"""Prints `<include folders>|<module suffix>` for a pybind11 module of this Python.

The headers of Python are often not installed (Debian has them in python3-dev). TensorFlow's wheel
for this Python contains a copy of them; the first argument is the folder of that wheel. If pybind11
or the headers are missing, this exits with 1 and prints the reason.
"""

from __future__ import annotations

import pathlib
import sys
import sysconfig


def python_headers(tensorflow: pathlib.Path) -> pathlib.Path | None:
    """The folder of this Python's `Python.h`; None if there is none."""
    bundled = tensorflow / "include" / "external" / "local_config_python" / "python_include"
    for folder in (pathlib.Path(sysconfig.get_path("include")), bundled):
        if (folder / "Python.h").exists():
            return folder
    return None


if __name__ == "__main__":
    try:
        import pybind11
    except ImportError:
        sys.exit(f"pybind11 is not installed for {sys.executable}")
    headers = python_headers(pathlib.Path(sys.argv[1]))
    if headers is None:
        sys.exit(f"no Python.h for {sys.executable}: install the python3-dev package")
    print(f"{pybind11.get_include()};{headers}|{sysconfig.get_config_var('EXT_SUFFIX')}")
