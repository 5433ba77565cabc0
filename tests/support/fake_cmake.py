"""A `cmake` for tests of setup.py: compiles nothing and installs files that exist already."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterable

# Writes the cache, which cmake/build_key.py reads.
_SOURCE = """#!{python}
import os, pathlib, shutil, sys

def after(option):
    return pathlib.Path(sys.argv[sys.argv.index(option) + 1])

if "-B" in sys.argv:
    build = after("-B")
    build.mkdir(parents=True)
    compiler, tensorflow = os.environ["FAKE_COMPILER"], os.environ["FAKE_TENSORFLOW"]
    options = [option[2:] for option in sys.argv if option.startswith("-D")]
    given = [option.replace("=", ":UNINITIALIZED=", 1) + "\\n" for option in options]
    (build / "CMakeCache.txt").write_text(
        f"CMAKE_CXX_COMPILER:STRING={{compiler}}\\nTAG_TENSORFLOW_DIR:PATH={{tensorflow}}\\n"
        f"tensor_array_grad_BINARY_DIR:STATIC={{build}}\\n" + "".join(given))
elif "--install" in sys.argv:
    package = after("--prefix") / "tensor_array_grad"
    package.mkdir(parents=True)
    for file in {files}:
        shutil.copy(file, package)
else:
    with open({builds!r}, "a") as builds:
        builds.write("x")
"""


def program(file: pathlib.Path, text: str) -> pathlib.Path:
    """Writes an executable file."""
    file.write_text(text)
    file.chmod(0o755)
    return file


class FakeCMake:
    """A `cmake` in `folder`, with a fake compiler and TensorFlow.

    Attributes:
      environment: The variables with which setup.py finds it.
      compiler: A program that prints its version.
    """

    def __init__(self, folder: pathlib.Path, files: Iterable[pathlib.Path]):
        """`files` are what it installs into the package."""
        folder.mkdir(exist_ok=True)
        self._builds = folder / "builds"
        names = [str(file) for file in files]
        text = _SOURCE.format(python=sys.executable, files=names, builds=str(self._builds))
        program(folder / "cmake", text)
        self.compiler = program(folder / "compiler", "#!/bin/sh\necho 12.2\n")
        self.environment = {
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "FAKE_COMPILER": str(self.compiler),
            "FAKE_TENSORFLOW": str(tensorflow(folder / "tensorflow", b"2.21")),
        }

    @property
    def builds(self) -> int:
        """How often it was told to compile."""
        return len(self._builds.read_text()) if self._builds.exists() else 0


def tensorflow(folder: pathlib.Path, library: bytes) -> pathlib.Path:
    """Makes a folder with what cmake/build_key.py reads of TensorFlow."""
    folder.mkdir()
    (folder / "libtensorflow_framework.so.2").write_bytes(library)
    return folder
