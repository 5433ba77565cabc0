"""Prints `<folder>;<version>` of the TensorFlow that this Python would import, without importing it.

Exits with 1 and says why when there is none.
"""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import sys
import sysconfig

DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu")


def search_path() -> list[str]:
    """The import path, and behind it the site-packages that pip's isolated builds hide."""
    outer = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return list(dict.fromkeys([*sys.path, *outer]))


def find() -> tuple[str, str, pathlib.Path] | None:
    """The (distribution, version, folder) of the first TensorFlow wheel on the search path."""
    for folder in search_path():
        if not os.path.isdir(folder):
            continue
        for found in importlib.metadata.distributions(path=[folder]):
            name = (found.metadata["Name"] or "").lower().replace("_", "-")
            package = pathlib.Path(folder) / "tensorflow"
            if name in DISTRIBUTIONS and (package / "libtensorflow_framework.so.2").exists():
                return name, found.version, package
    return None


if __name__ == "__main__":
    wheel = find()
    if wheel is None:
        sys.exit("no tensorflow or tensorflow-cpu distribution on the import path")
    print(f"{wheel[2]};{wheel[1]}")
