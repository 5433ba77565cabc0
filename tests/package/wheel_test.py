"""The wheel, installed with pip: what its .pth file does, and that uninstalling leaves nothing.

Nothing is compiled: the build uses a `cmake` that copies the library of this process.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile

import pytest
from packaging.version import Version

from tests.support import child
from tests.support.fake_cmake import FakeCMake

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ("libtensor_array_grad.so", "build_info.json", "_bind.*.so")

pytestmark = [
    pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="the tests lie outside a checkout"),
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("pip", "setuptools", "wheel", "pybind11"))),
        reason="pip, setuptools, wheel or pybind11 is not installed",
    ),
    pytest.mark.skipif(
        Version(importlib.metadata.version("setuptools")) < Version("77"),
        reason="setuptools is older than [build-system] of pyproject.toml requires",
    ),
]


def run(*command, **environment) -> subprocess.CompletedProcess[str]:
    inherited = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TENSOR_ARRAY_GRAD")
    }
    return subprocess.run(
        [str(part) for part in command],
        env=inherited | {"TF_CPP_MIN_LOG_LEVEL": "1"} | environment,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


def checked(*command, **environment) -> str:
    done = run(*command, **environment)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Environment:
    """A fresh virtual environment that sees the packages of this process, but not this package."""

    def __init__(self, folder: pathlib.Path):
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        (self.packages,) = folder.glob("lib/python*/site-packages")
        (self.packages / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.before = self.contents()

    def contents(self) -> set[str]:
        files = (path.relative_to(self.packages) for path in self.packages.rglob("*"))
        return {str(file) for file in files if "__pycache__" not in file.parts}

    def pip(self, *arguments, **environment) -> str:
        return checked(self.python, "-m", "pip", *arguments, **environment)


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> pathlib.Path:
    """A copy of the files that a build reads, because pip leaves files in the folder it builds."""
    folder = tmp_path_factory.mktemp("sources")
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    unbuilt = shutil.ignore_patterns("__pycache__", "*.egg-info", *BUILT)
    for name in ("pep517", "cmake", "python"):
        shutil.copytree(ROOT / name, folder / name, ignore=unbuilt)
    return folder


@pytest.fixture(scope="module")
def cmake(tmp_path_factory) -> dict[str, str]:
    """Environment in which a build finds a `cmake` that copies the library of this process."""
    folders = {child.PACKAGE, child.LIBRARY.parent}
    files = [file for folder in folders for name in BUILT for file in folder.glob(name)]
    return FakeCMake(tmp_path_factory.mktemp("tools"), files).environment


@pytest.fixture(scope="module")
def wheel(sources, cmake, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder)
    checked(sys.executable, *build, sources, **cmake)
    (built,) = folder.glob("*.whl")
    return built


STATE = """
import sys
import tensorflow
package = sys.modules.get("tensor_array_grad")
print(package.is_enabled() if package else "stock", package and package.__file__)
"""


def test_the_wheel_holds_the_pth_file_where_an_interpreter_reads_it(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "tensor_array_grad.pth" in names
    assert "_tensor_array_grad_startup.py" in names
    assert "tensor_array_grad/_site/sitecustomize.py" in names


def test_the_wheel_holds_the_program_of_the_demonstration_and_its_data(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"tensor_array_grad/demo/program.py", "tensor_array_grad/demo/co2.txt"} <= names


def test_the_variable_enables_an_installed_wheel_and_uninstalling_leaves_nothing(wheel, tmp_path):
    environment = Environment(tmp_path / "venv")
    environment.pip("install", "-q", "--no-deps", "--ignore-installed", wheel)
    init = environment.packages / "tensor_array_grad" / "__init__.py"
    python = environment.python
    assert checked(python, "-c", STATE, TENSOR_ARRAY_GRAD="on") == f"True {init}\n"
    assert checked(python, "-I", "-c", STATE, TENSOR_ARRAY_GRAD="on") == f"True {init}\n"
    assert checked(python, "-c", STATE) == "stock None\n"
    assert checked(python, "-c", STATE, TENSOR_ARRAY_GRAD="off") == "stock None\n"

    runner = (python, "-m", "tensor_array_grad")
    assert checked(*runner, "-I", "-c", STATE) == f"True {init}\n"
    code = "import os; print(os.environ['TENSOR_ARRAY_GRAD'], os.environ.get('PYTHONPATH'))"
    assert checked(*runner, "-c", code) == "on None\n"
    assert run(*runner, "-S", "-c", "").returncode == 1

    environment.pip("uninstall", "-q", "-y", "tensor_array_grad")
    assert environment.contents() == environment.before
    assert checked(python, "-c", STATE, TENSOR_ARRAY_GRAD="on") == "stock None\n"


def test_without_the_variable_nothing_is_imported_when_python_starts(wheel, tmp_path):
    environment = Environment(tmp_path / "venv")
    code = "import sys; print(sorted(sys.modules), sys.meta_path)"
    before = checked(environment.python, "-c", code)
    environment.pip("install", "-q", "--no-deps", wheel)
    assert checked(environment.python, "-c", code) == before


def test_an_editable_install_has_the_pth_file(sources, cmake, tmp_path):
    environment = Environment(tmp_path / "venv")
    editable = ("install", "-q", "--no-deps", "--no-build-isolation", "-e", sources)
    environment.pip(*editable, **cmake)
    init = sources / "python" / "tensor_array_grad" / "__init__.py"
    python = environment.python
    assert checked(python, "-c", STATE, TENSOR_ARRAY_GRAD="on") == f"True {init}\n"
    assert checked(python, "-m", "tensor_array_grad", "-c", STATE) == f"True {init}\n"
    environment.pip("uninstall", "-q", "-y", "tensor_array_grad")
    assert environment.contents() == environment.before


def test_an_editable_install_leaves_a_library_alone_that_a_process_has_loaded(
    sources, cmake, tmp_path
):
    environment = Environment(tmp_path / "venv")
    library = sources / "python" / "tensor_array_grad" / "libtensor_array_grad.so"
    library.unlink(missing_ok=True)
    library.write_text("loaded")
    loaded = tmp_path / "loaded.so"
    loaded.hardlink_to(library)  # the same inode, as a mapping has it
    editable = ("install", "-q", "--no-deps", "--no-build-isolation", "-e", sources)
    environment.pip(*editable, **cmake)
    assert loaded.read_bytes() == b"loaded"
    assert library.read_bytes() == child.LIBRARY.read_bytes()


def test_a_source_distribution_holds_all_files_of_the_repository(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False
    )
    if not listed.stdout:
        pytest.skip("the tests lie outside a git checkout")
    files = listed.stdout.splitlines()
    sources = tmp_path / "sources"
    for file in files:
        (sources / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, sources / file)
    code = "import backend, sys; backend.build_sdist(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=sources,
        env=dict(os.environ, PYTHONPATH="pep517"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert set(files) - names == set()
