"""The key of a build. Two builds with the same key make the same files, so setup.py runs only one.

The key is a digest of all that decides what is built: the sources, what CMake was told and what it
has found (its cache), the versions of the compilers, of pybind11, Python, TensorFlow and CUDA, and
the contents of a toolchain file.

Three folders have another path in each build: the build folder, the environment that pip makes for
a build, and TensorFlow's folder, which is in pip's environment if no TensorFlow was installed
before. The key does not depend on these paths. It depends on the version of pybind11 and on the
contents of TensorFlow's library instead.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import subprocess
import sys

import pybind11

_SOURCES = ("CMakeLists.txt", "cc", "cmake", "include", "python/tensor_array_grad/_version.py")
# The variables from which gcc, clang and nvcc read folders and flags that no command names.
_VARIABLES = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH"),
    *("GCC_EXEC_PREFIX", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"),
)
# Entries of CMake's cache that name a file or a folder, and the file in that folder to read. CUDA's
# header states its version.
_FILES = (
    ("CMAKE_TOOLCHAIN_FILE", ""),
    ("TAG_CUDA_RUNTIME", ""),
    ("TAG_CUDA_INCLUDE", "cuda_runtime_api.h"),
    ("TAG_TENSORFLOW_DIR", "libtensorflow_framework.so.2"),
)


def _contents(root: pathlib.Path) -> list[str | bytes]:
    """The paths and contents of the files from which CMake builds."""
    found: list[str | bytes] = []
    for source in (root / name for name in _SOURCES):
        files = [source] if source.is_file() else sorted(source.rglob("*"))
        for file in files:
            if file.is_file() and file.suffix != ".pyc":
                found += [str(file.relative_to(root)), file.read_bytes()]
    return found


def build_key(root: pathlib.Path, build: pathlib.Path) -> str:
    """The key of the build of the checkout `root` that CMake has configured in the folder `build`.

    Raises:
      OSError: A file or a compiler that CMake has named cannot be read or run.
    """
    # Paths and variables may have bytes that are not UTF-8.
    cache = os.fsdecode((build / "CMakeCache.txt").read_bytes())
    entries = dict(re.findall(r"(?m)^(\w+):\w+=(.*)$", cache))
    tensorflow = entries["TAG_TENSORFLOW_DIR"]
    cache = cache.replace(tensorflow, "").replace(str(build), "")
    parts = [*_contents(root), re.sub(r"/pip-build-env-[^/]+/", "/", cache)]
    for name, file in _FILES:
        path = entries.get(name, "")
        found = path != "" and not path.endswith("NOTFOUND")
        parts.append(pathlib.Path(path, file).read_bytes() if found else b"")
    parts += [sys.version, pybind11.__version__]
    parts += [f"{name}={os.environ.get(name)}" for name in _VARIABLES]
    for compiler in (entries["CMAKE_CXX_COMPILER"], entries.get("TAG_CUDA_NVCC", "NOTFOUND")):
        if not compiler.endswith("NOTFOUND"):
            told = subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, check=False)
            parts.append(told.stdout)
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else os.fsencode(part)
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:32]
