"""Builds the wheel: CMake makes the op library and the bindings, setuptools packs them.

The TensorFlow found in the target environment is the one built against and the one that the wheel
then requires; all other metadata is in pyproject.toml. For a wheel that serves several TensorFlows,
tools/build_wheel.sh names a folder of libraries that it has built in TAG_PREBUILT.
"""

from __future__ import annotations

import atexit
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent
VERSIONS = runpy.run_path(str(ROOT / "python" / "tensor_array_grad" / "_version.py"))
PTH = "tensor_array_grad.pth"
BYTES_PER_JOB = 1.5e9  # what one compiler needs for TensorFlow's headers
PREBUILT = os.environ.get("TAG_PREBUILT")


def requirement() -> str:
    """The TensorFlow that the wheel built now will fit."""
    wheel = runpy.run_path(str(ROOT / "cmake" / "find_tensorflow.py"))["find"]()
    if wheel is None:  # an sdist: the wheel made from it will say
        return f"tensorflow-cpu>={VERSIONS['TENSORFLOW_MIN']}"
    if wheel.distribution.startswith("tf-nightly"):
        return f"{wheel.distribution}=={wheel.version}"
    minor = ".".join(wheel.version.split(".")[:2])
    supported = range(_minor(VERSIONS["TENSORFLOW_MIN"]), _minor(VERSIONS["TENSORFLOW_MAX"]) + 1)
    if _minor(minor) not in supported:
        sys.exit(
            f"tensor_array_grad builds against TensorFlow {VERSIONS['TENSORFLOW_MIN']} to "
            f"{VERSIONS['TENSORFLOW_MAX']}, and {wheel.folder} is {wheel.version}. "
            f"Run: pip install 'tensorflow=={VERSIONS['TENSORFLOW_DEFAULT']}.*'"
        )
    return f"{wheel.distribution}=={minor}.*"


def _minor(version: str) -> int:
    """21 of "2.21.0"; TensorFlow 2 is the only major version served."""
    major, minor = version.split(".")[:2]
    return int(major) * 100 + int(minor)


def jobs() -> int:
    """As many compilers as the machine has cores and memory for."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(os.cpu_count() or 1, int(memory / BYTES_PER_JOB)))


class CMakeExtension(Extension):
    """A module that CMake builds; `name` only tells setuptools where it goes."""

    def __init__(self, name: str) -> None:
        super().__init__(name, sources=[])


class BuildWithCMake(build_ext):
    """Runs CMake and installs its component `python` where setuptools collects the wheel.

    Always from an empty folder: a CMake cache holds paths into pip's build environment, which is
    gone when the next build starts.
    """

    def build_extension(self, ext: Extension) -> None:
        """Configures, builds and installs; `ext` is the only one."""
        package = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve().parent
        if PREBUILT:
            shutil.copytree(PREBUILT, package, dirs_exist_ok=True)
            return
        build = pathlib.Path(self.build_temp).resolve() / "cmake"
        shutil.rmtree(build, ignore_errors=True)
        env = dict(os.environ, CMAKE_BUILD_PARALLEL_LEVEL=str(jobs())) | dict(os.environ)
        configure = [
            *("cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(build)),
            f"-DPython_EXECUTABLE={sys.executable}",
            *("-DTAG_TESTS=OFF", "-DTAG_BINDINGS=ON", "-DCMAKE_BUILD_TYPE=Release"),
            *os.environ.get("CMAKE_ARGS", "").split(),
        ]
        install = ["cmake", "--install", str(build), "--component", "python", "--strip", "--prefix"]
        commands = [configure, ["cmake", "--build", str(build)], [*install, str(package.parent)]]
        if self.editable_mode:  # of what was collected, setuptools copies the bindings alone
            commands.append([*install, str(ROOT / "python")])
        for command in commands:
            subprocess.run(command, check=True, env=env)


class BuildWithPth(build_py):
    """Puts the .pth file beside the package, where an interpreter that starts reads it."""

    def run(self) -> None:
        """Also for an editable wheel, of which only this folder is packed."""
        super().run()
        editable = self.editable_mode
        folder = self.get_finalized_command("install").install_lib if editable else self.build_lib
        self.copy_file(str(ROOT / "python" / PTH), str(pathlib.Path(folder) / PTH))


# The build folder is scratch/temp.*/cmake; ccache finds the files of a build at the same depth.
scratch = tempfile.mkdtemp(prefix="tensor_array_grad-build-")
atexit.register(shutil.rmtree, scratch, ignore_errors=True)
setup(
    version=VERSIONS["__version__"],
    # No TensorFlow if several fit: pip would install `tensorflow` beside `tensorflow-cpu`.
    install_requires=[] if PREBUILT else [requirement()],
    ext_modules=[CMakeExtension("tensor_array_grad._bind")],
    cmdclass={"build_ext": BuildWithCMake, "build_py": BuildWithPth},
    # Not the checkout's build/: what an earlier build left there would enter the wheel.
    options={"build": {"build_base": scratch}},
)
