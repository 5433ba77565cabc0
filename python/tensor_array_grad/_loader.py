"""Finds, checks and loads the op library, once per process.

All checks that do not need an open library come first, because a library that was built for
another TensorFlow may end the process while it is being loaded. `cc/api` makes the same checks for
C++ programs, with code of its own, because they have no Python.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import json
import os
import pathlib
import platform
import sys
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

import tensorflow as tf
from packaging.version import InvalidVersion, Version

from tensor_array_grad import _tf_private

_LIBRARY = "libtensor_array_grad.so"
_RECORD = "build_info.json"
_BINDINGS = "tensor_array_grad._bind"
_LOOKED = "TENSOR_ARRAY_GRAD_LOOKED"  # says which process has looked for GPUs
_DELETED = " (deleted)"  # what Linux appends to the path of a mapped file that is gone
_FOLDER = pathlib.Path(__file__).resolve().parent
_lock = threading.Lock()  # of the environment variable
_loaded: dict[str, tuple[int, ...]] = {}  # by path: its `identity` when it was found to be loaded


def _folder() -> pathlib.Path:
    """The folder of the op library for the TensorFlow of this process.

    A wheel for several releases has a folder for each, such as `tf2.21`. A build for one release
    has the library beside this file.
    """
    minor = ".".join(tf.__version__.split(".")[:2])
    own = _FOLDER / f"tf{minor}"
    return own if own.is_dir() else _FOLDER


class LoadError(RuntimeError):
    """The op library cannot be used with the TensorFlow of this process."""


@dataclasses.dataclass(frozen=True)
class BuildInfo:
    """The versions that the op library was built for, as recorded beside it."""

    version: str  # of tensor_array_grad
    tensorflow: str  # "2.21.0"
    distribution: str  # "tensorflow-cpu"
    cxx11_abi: int


def library_path() -> str:
    """The path of the op library, as `tf.load_op_library` takes it.

    Returns:
      An absolute path. The file exists if the package was installed completely.
    """
    return str(_folder() / _LIBRARY)


def read_build_info(folder: pathlib.Path | None = None) -> BuildInfo:
    """Reads for which versions the op library in `folder` was built, by default this process's.

    Raises LoadError if the build wrote no record there, or none that can be read, or if the wheel
    has libraries for other releases of TensorFlow only.
    """
    folder = folder or _folder()
    record = folder / _RECORD
    try:
        return BuildInfo(**json.loads(record.read_text()))
    except (OSError, ValueError, TypeError) as error:
        served = sorted(path.name.removeprefix("tf") for path in folder.glob("tf2.*"))
        if served:
            raise LoadError(
                f"tensor_array_grad: this wheel serves TensorFlow {', '.join(served)} and cannot "
                f"be loaded into TensorFlow {tf.__version__}. "
                f"Run: pip install 'tensorflow=={served[-1]}.*'"
            ) from None
        raise LoadError(
            f"tensor_array_grad: {record} does not say what {folder / _LIBRARY} was built for "
            f"(running TensorFlow {tf.__version__}). {_reinstall()}"
        ) from error


def check_fit(built: BuildInfo, running: str, abi: int, path: str) -> None:
    """Raises LoadError if the library at `path` was built for another minor version or ABI.

    The message names both versions of TensorFlow and the commands that fix it.
    """
    try:
        same = Version(built.tensorflow).release[:2] == Version(running).release[:2]
        cause = None
    except InvalidVersion as error:
        same, cause = False, error
    if same and abi == built.cxx11_abi:
        return
    minor = ".".join(built.tensorflow.split(".")[:2])
    raise LoadError(
        f"tensor_array_grad: {path} was built for TensorFlow {built.tensorflow} (C++11 ABI "
        f"{built.cxx11_abi}) and cannot be loaded into TensorFlow {running} (C++11 ABI {abi}). "
        f"{_reinstall()}, or: pip install '{built.distribution}=={minor}.*'"
    ) from cause


def mapped_libraries(maps: str | None = None) -> list[str]:
    """The paths of the op libraries in this process: this package's and copies elsewhere.

    Empty if the system has no `/proc/self/maps`. `maps` is text in the format of that file.
    """
    if maps is None:
        try:
            maps = pathlib.Path("/proc/self/maps").read_text()
        except OSError:
            return []
    paths = (line.split(maxsplit=5)[-1] for line in maps.splitlines())
    return sorted({path for path in paths if path.removesuffix(_DELETED).endswith("/" + _LIBRARY)})


def is_loaded() -> bool:
    """Whether `enable()` or `tf.load_op_library` has loaded the op library into this process.

    A library whose file was removed or replaced afterwards stays loaded. pip moves the files of a
    package before it removes them, so the path of such a file may be another one.
    """
    path = library_path()
    if path not in _loaded:
        mapped = mapped_libraries()
        if path in mapped:
            _loaded[path] = identity()
        elif any(other.endswith(_DELETED) for other in mapped):
            _loaded[path] = (0,)  # of a file that is gone
    return path in _loaded


def is_replaced() -> bool:
    """Whether the library is loaded, and its file was removed or replaced since then."""
    return is_loaded() and _loaded[library_path()] != identity()


def identity() -> tuple[int, ...]:
    """What tells the library's file from another one at its path; empty if there is none."""
    try:
        found = pathlib.Path(library_path()).stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns


def replaced() -> LoadError:
    """The error of what needs the file that was loaded."""
    return LoadError(
        f"tensor_array_grad: {library_path()} was removed or replaced while this process uses it. "
        "The process goes on with the library that it has loaded. Restart it to use the new one."
    )


@functools.cache
def ops() -> Any:
    """Loads the op library if it is not loaded, and returns the Python functions of its own ops.

    They have the ops' names in snake_case, for example `tensor_array_grad_list_accumulate`. Raises
    LoadError if the library does not fit this TensorFlow, is missing, or is loaded twice.
    """
    path = library_path()
    if is_replaced():  # to load the new file as well would register all kernels twice
        raise replaced()
    built = read_build_info()
    check_fit(built, tf.__version__, tf.sysconfig.CXX11_ABI_FLAG, path)
    others = [other for other in mapped_libraries() if other != path]
    if others:
        _refuse_second_copy(others[0])
    try:
        with _lock, _after_looking_for_gpus():
            return tf.load_op_library(path)
    except (tf.errors.OpError, RuntimeError, OSError) as error:
        raise LoadError(
            f"tensor_array_grad: {path}, built for TensorFlow {built.tensorflow}, could not be "
            f"loaded into TensorFlow {tf.__version__}. {_reinstall()}"
        ) from error


@contextlib.contextmanager
def _after_looking_for_gpus() -> Iterator[None]:
    """Lets TensorFlow look for GPUs, which starts CUDA, before the library is loaded.

    TensorFlow cannot do that while a library is being loaded. The environment tells the library
    that it has been done (cc/kernels/activation.cc).
    """
    with contextlib.suppress(tf.errors.OpError, RuntimeError):  # then TensorFlow has none
        _tf_private.look_for_devices()
    os.environ[_LOOKED] = str(os.getpid())
    try:
        yield
    finally:
        del os.environ[_LOOKED]


def bind() -> Any:
    """Loads the op library if it is not loaded, and returns its bindings.

    The bindings are imported last, because importing them loads the library, and so replaces
    kernels, without any check. Raises LoadError as `ops` and `check_bindings` do.
    """
    if _BINDINGS in sys.modules and is_loaded():
        return _checked_bindings()
    check_bindings()
    ops()
    if is_replaced():  # the bindings beside the new file are those of another library
        raise replaced()
    return _checked_bindings()


@functools.cache
def _checked_bindings() -> Any:
    """The bindings of the library, which is loaded."""
    try:
        bindings = importlib.import_module(_BINDINGS)
    except ImportError as error:
        raise LoadError(_no_bindings()) from error
    other = bindings.build_facts()["library"]
    if other != library_path() and not pathlib.Path(other).samefile(library_path()):
        _refuse_second_copy(other)
    return bindings


def check_bindings() -> None:
    """Raises LoadError if the package has no bindings for this Python. Loads nothing."""
    if importlib.util.find_spec(_BINDINGS) is None:
        raise LoadError(_no_bindings())


def _no_bindings() -> str:
    return (
        f"tensor_array_grad: no bindings for Python {platform.python_version()} beside "
        f"{library_path()}. {_reinstall()}"
    )


def _refuse_second_copy(other: str) -> NoReturn:
    raise LoadError(
        f"tensor_array_grad: a second copy, {other}, is already loaded (running TensorFlow "
        f"{tf.__version__}), and two copies of one kernel break every graph: {library_path()} is "
        "not used. Load one of them only; to leave one installed: pip uninstall tensor_array_grad"
    )


def _reinstall() -> str:
    return (
        "Install it again, from its source folder or from a wheel for this TensorFlow: "
        "pip install --force-reinstall --no-deps --no-cache-dir FOLDER_OR_WHEEL"
    )
