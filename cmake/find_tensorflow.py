"""Prints `<folder>;<version>;<distribution>` of the TensorFlow that this Python would import.

Folders given as arguments are searched first. If there is no TensorFlow, this exits with 1 and
prints the reason.

TensorFlow is not imported: pip's isolated builds cannot import the TensorFlow of the target
environment, but they can read its files.
"""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import platform
import site
import sys
import sysconfig
from typing import NamedTuple

DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu")


def default_distribution() -> str:
    """What to install where there is no TensorFlow. `tensorflow-cpu` has wheels for x86 only."""
    return "tensorflow-cpu" if platform.machine() == "x86_64" else "tensorflow"


class Wheel(NamedTuple):
    """An installed TensorFlow."""

    distribution: str
    version: str
    folder: pathlib.Path


def search_path() -> list[str]:
    """The import path, followed by the site-packages that pip's isolated builds hide."""
    outer = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    configuration = pathlib.Path(sys.prefix) / "pyvenv.cfg"
    if not configuration.exists():
        outer.append(site.getusersitepackages())
    elif "include-system-site-packages = true" in configuration.read_text():
        system = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
        outer.append(sysconfig.get_path("purelib", vars=system))
    return list(dict.fromkeys([*sys.path, *outer]))


def find(*first: str) -> Wheel | None:
    """The first TensorFlow wheel in the folders `first`, else on the search path."""
    for folder in (*first, *search_path()):
        if not os.path.isdir(folder):
            continue
        for found in importlib.metadata.distributions(path=[folder]):
            name = (found.metadata["Name"] or "").lower().replace("_", "-")
            package = pathlib.Path(folder) / "tensorflow"
            if name in DISTRIBUTIONS and (package / "libtensorflow_framework.so.2").exists():
                return Wheel(name, found.version, package)
    return None


if __name__ == "__main__":
    wheel = find(*sys.argv[1:])
    if wheel is None:
        sys.exit(
            "no tensorflow or tensorflow-cpu distribution on the import path\n"
            f"Run: {sys.executable} -m pip install {default_distribution()}"
        )
    print(f"{wheel.folder};{wheel.version};{wheel.distribution}")
