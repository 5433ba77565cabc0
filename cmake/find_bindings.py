"""Prints `<include folders>|<module suffix>` for a pybind11 module of this Python.

Python's own headers are often not installed (Debian keeps them in python3-dev), while TensorFlow's
wheel for this Python carries a copy: the first argument is that wheel's folder. Exits with 1 and
says why when pybind11 or the headers are missing.
"""

from __future__ import annotations

import pathlib
import sys
import sysconfig


def python_headers(tensorflow: pathlib.Path) -> pathlib.Path | None:
    """The folder of this Python's `Python.h`."""
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
