"""The build backend requires a TensorFlow only if the target environment has none."""

from __future__ import annotations

import ast
import importlib.util
import os
import pathlib
import runpy
import subprocess
import sys
import venv

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION_FILE = ROOT / "python" / "tensor_array_grad" / "_version.py"

# Found, not imported: that fails if another test has imported the distutils of Python.
SETUPTOOLS = importlib.util.find_spec("setuptools")

pytestmark = [
    pytest.mark.skipif(not VERSION_FILE.exists(), reason="the tests lie outside a checkout"),
    pytest.mark.skipif(SETUPTOOLS is None, reason="setuptools is not installed"),
]


def tensorflow(python: pathlib.Path, *path: pathlib.Path, machine: str = "x86_64") -> list[str]:
    """The TensorFlow that the backend requires if `python` runs it with `path` on PYTHONPATH."""
    on_machine = f"import platform; platform.machine = lambda: {machine!r}"
    done = subprocess.run(
        [str(python), "-c", f"{on_machine}; import backend; print(backend._tensorflow())"],
        cwd=ROOT,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, [ROOT / "pep517", *path]))),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    requirements: list[str] = ast.literal_eval(done.stdout.splitlines()[-1])
    return requirements


def test_no_tensorflow_is_required_if_one_is_installed() -> None:
    assert tensorflow(pathlib.Path(sys.executable)) == []


@pytest.mark.parametrize(
    ("machine", "distribution"), [("x86_64", "tensorflow-cpu"), ("aarch64", "tensorflow")]
)
def test_the_default_tensorflow_is_required_in_an_environment_without_one(
    machine: str, distribution: str, tmp_path: pathlib.Path
) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    tools = tmp_path / "tools"
    tools.mkdir()
    packages = pathlib.Path(SETUPTOOLS.origin).parent.parent
    for name in ("setuptools", "_distutils_hack", "pkg_resources"):
        if (packages / name).exists():
            (tools / name).symlink_to(packages / name)
    bare = tensorflow(tmp_path / "venv" / "bin" / "python", tools, machine=machine)
    default = runpy.run_path(str(VERSION_FILE))["TENSORFLOW_DEFAULT"]
    assert bare == [f"{distribution}=={default}.*"]
