"""Runs Python code in a process of its own, in which the library is not loaded yet.

`interpreter` starts Python, and an import of TensorFlow then takes seconds. `python` and `code` run
in a fork of a process that has imported TensorFlow and has run nothing, which takes milliseconds.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import textwrap

import tensor_array_grad
from tests.support import kernel_runner

PACKAGE = pathlib.Path(tensor_array_grad.__file__).resolve().parent
LIBRARY = pathlib.Path(tensor_array_grad.library_path())
# Defines `gradient()`, which is [11, 0, 100] with corrected gradient functions; stock's is
# [10, 0, 100].
GATHER = """
import tensorflow as tf

def gradient():
    @tf.function
    def gathered(x):
        return tf.TensorArray(tf.float32, 3).unstack(x).gather([0, 0, 2])
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(gathered(x) * [1.0, 10.0, 100.0])
    return tape.gradient(y, x).numpy().tolist()
"""
_TIMEOUT_S = 180.0
_LOG_LEVEL = "1"  # of TensorFlow


def environment_of(**environment: str) -> dict[str, str]:
    """The variables of a child process that imports the same package as this one."""
    path = os.pathsep.join([environment.pop("PYTHONPATH", ""), str(PACKAGE.parent)])
    inherited = {k: v for k, v in os.environ.items() if k != "TENSOR_ARRAY_GRAD"}
    own = {"TF_CPP_MIN_LOG_LEVEL": _LOG_LEVEL, "PYTHONPATH": path.strip(os.pathsep)}
    return {**inherited, **own, **environment}


def interpreter(
    *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs `python arguments...` with these environment variables; any exit status is returned."""
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        env=environment_of(**environment),
        capture_output=True,
        text=True,
        timeout=kernel_runner.PATIENCE * _TIMEOUT_S,
        check=False,
    )


@functools.cache
def stock() -> kernel_runner.Runner:
    """The runner that all tests share for programs on TensorFlow's own kernels.

    TensorFlow reads the log level only once, when it is imported.
    """
    return kernel_runner.Runner(env={"TF_CPP_MIN_LOG_LEVEL": _LOG_LEVEL})


def end() -> None:
    """Ends the process behind `stock`, if it was started."""
    if stock.cache_info().currsize:
        stock().close()
        stock.cache_clear()


def python(
    *arguments: str, fork_children: bool = False, imported: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """As `interpreter`, in a fork of a process that has imported TensorFlow.

    With `fork_children`, so are the interpreters that the program starts. Unless `imported`,
    `tensorflow` is not in `sys.modules`.
    """
    return stock().python(
        arguments,
        environment_of(**environment),
        timeout=_TIMEOUT_S,
        fork_children=fork_children,
        imported=imported,
    )


def code(source: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `source` by `python`, which must succeed."""
    return succeeded(python("-c", textwrap.dedent(source), *arguments, **environment))


def succeeded(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Returns `done`, whose exit status must be 0."""
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def copy_package(folder: pathlib.Path) -> pathlib.Path:
    """Copies the package into `folder`, without the demo; returns the folder of the copy."""
    return shutil.copytree(
        PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__", "demo")
    )


def build_record(package: pathlib.Path) -> pathlib.Path:
    """The path of `build_info.json`, which is beside the op library, in a copy of the package."""
    return package / LIBRARY.relative_to(PACKAGE).with_name("build_info.json")


def free_addresses(count: int) -> list[str]:
    """Addresses of this machine at which no process listens."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
