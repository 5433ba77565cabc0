"""Builds the wheel: CMake makes the op library and the bindings, setuptools packs them.

The library is compiled against the TensorFlow in the target environment, and the wheel requires
that TensorFlow. All other metadata is in pyproject.toml. For a wheel that serves several releases
of TensorFlow, tools/build_wheel.sh builds the libraries and sets TAG_PREBUILT to their folder.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent
VERSIONS = runpy.run_path(str(ROOT / "python" / "tensor_array_grad" / "_version.py"))
PTH = "tensor_array_grad.pth"
BYTES_PER_JOB = 1.5e9  # memory that one compiler needs for TensorFlow's headers
PREBUILT = os.environ.get("TAG_PREBUILT")
KEPT = ROOT / "build" / "pip"  # what earlier builds made, in a folder for each key
MOST_KEPT = 4
SECONDS_PER_DAY = 24 * 60 * 60


def requirement() -> str:
    """The requirement of this wheel on TensorFlow, such as `tensorflow-cpu==2.21.*`."""
    finder = runpy.run_path(str(ROOT / "cmake" / "find_tensorflow.py"))
    wheel = finder["find"]()
    if wheel is None:  # for an sdist; a wheel made from it has the exact requirement
        return f"{finder['default_distribution']()}>={VERSIONS['TENSORFLOW_MIN']}"
    minor = ".".join(wheel.version.split(".")[:2])
    supported = range(_minor(VERSIONS["TENSORFLOW_MIN"]), _minor(VERSIONS["TENSORFLOW_MAX"]) + 1)
    if _minor(minor) not in supported:
        sys.exit(
            f"tensor_array_grad builds against TensorFlow {VERSIONS['TENSORFLOW_MIN']} to "
            f"{VERSIONS['TENSORFLOW_MAX']}, and {wheel.folder} is {wheel.version}. "
            f"Run: pip install 'tensorflow=={VERSIONS['TENSORFLOW_DEFAULT']}.*'"
        )
    is_nightly = wheel.distribution.startswith("tf-nightly")
    return f"{wheel.distribution}=={wheel.version if is_nightly else f'{minor}.*'}"


def _minor(version: str) -> int:
    """The major and minor version as one number: 221 for "2.21.0"."""
    major, minor = version.split(".")[:2]
    return int(major) * 100 + int(minor)


def jobs() -> int:
    """The number of compilers that the cores and the memory of this machine allow."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(os.cpu_count() or 1, int(memory / BYTES_PER_JOB)))


class CMakeExtension(Extension):
    """A module that CMake builds. setuptools needs `name` only to find its folder in the wheel."""

    def __init__(self, name: str) -> None:
        super().__init__(name, sources=[])


class BuildWithCMake(build_ext):
    """Runs CMake and copies its component `python` into the folder that becomes the wheel.

    The build folder is always empty at first. A CMake cache has paths into pip's build environment,
    which does not exist any more when the next build starts. What CMake has installed is kept in
    the checkout instead, and a later build with the same key (cmake/build_key.py) compiles nothing.
    """

    def build_extension(self, ext: Extension) -> None:
        """Configures, builds and installs everything. `ext` is the only extension."""
        package = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve().parent
        if PREBUILT:
            shutil.copytree(PREBUILT, package, dirs_exist_ok=True)
            return
        built = self._built()
        shutil.copytree(built, package.parent, dirs_exist_ok=True)
        if self.editable_mode:  # setuptools copies only the bindings into the checkout
            python = ROOT / "python"
            shutil.copytree(built, python, dirs_exist_ok=True, copy_function=replace)

    def _built(self) -> pathlib.Path:
        """The folder with what CMake installs for these sources, compiled only if none is kept."""
        build = pathlib.Path(self.build_temp).resolve() / "cmake"
        shutil.rmtree(build, ignore_errors=True)
        env = dict(os.environ, CMAKE_BUILD_PARALLEL_LEVEL=str(jobs())) | dict(os.environ)
        configure = [
            *("cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(build)),
            f"-DPython_EXECUTABLE={sys.executable}",
            *("-DTAG_TESTS=OFF", "-DTAG_BINDINGS=ON", "-DCMAKE_BUILD_TYPE=Release"),
            "-DCMAKE_UNITY_BUILD=ON",
            *os.environ.get("CMAKE_ARGS", "").split(),
        ]
        subprocess.run(configure, check=True, env=env)
        kept, installed = kept_for(build), build / "installed"
        if kept and kept.is_dir():
            with contextlib.suppress(OSError):  # the checkout is read-only
                os.utime(kept)  # the builds that were used last are kept
            print(f"Nothing has changed since {kept} was built")
            return kept
        install = ["cmake", "--install", str(build), "--component", "python", "--strip", "--prefix"]
        for command in (["cmake", "--build", str(build)], [*install, str(installed)]):
            subprocess.run(command, check=True, env=env)
        if kept:
            try:
                keep(installed, kept)
            except OSError as error:  # the checkout is read-only, or its disk is full
                print(f"This build is not kept, so the next one compiles again: {error}")
        return installed


def replace(source: str, target: str) -> None:
    """Copies a file to `target`. A process that has loaded the old file continues to use it."""
    with tempfile.TemporaryDirectory(dir=pathlib.Path(target).parent) as part:
        pathlib.Path(shutil.copy2(source, part)).replace(target)


def kept_for(build: pathlib.Path) -> pathlib.Path | None:
    """The folder in KEPT for what CMake has configured in `build`; None if it has no key."""
    try:
        build_key = runpy.run_path(str(ROOT / "cmake" / "build_key.py"))["build_key"]
        return KEPT / build_key(ROOT, build)
    except Exception as error:  # a build without a key is slower, and as good
        print(f"This build is not kept, as it has no key: {type(error).__name__}: {error}")
        return None


def keep(installed: pathlib.Path, kept: pathlib.Path) -> None:
    """Copies `installed` to `kept`, and removes the builds that were not used for longest.

    A folder whose name is a key is always complete, even if the process ends or another one looks.
    It gets this name after the last file was copied, and loses it before the first is removed.
    """
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as part:
        whole = shutil.copytree(installed, pathlib.Path(part, kept.name))
        if not kept.is_dir():  # else another process has kept the same build
            whole.rename(kept)
    with contextlib.suppress(OSError):  # another process removes the same folders
        remove_old()


def remove_old() -> None:
    """Removes all but MOST_KEPT builds from KEPT, and what a process that ended has left there."""
    folders = sorted(KEPT.iterdir(), key=lambda folder: folder.stat().st_mtime)
    builds = [folder for folder in folders if re.fullmatch("[0-9a-f]{32}", folder.name)]
    for old in builds[:-MOST_KEPT]:
        with tempfile.TemporaryDirectory(dir=KEPT, ignore_cleanup_errors=True) as away:
            old.rename(pathlib.Path(away, old.name))
    for folder in set(folders) - set(builds):
        if folder.stat().st_mtime < time.time() - SECONDS_PER_DAY:
            shutil.rmtree(folder, ignore_errors=True)


class BuildWithPth(build_py):
    """Puts the .pth file beside the package, where Python reads it when it starts."""

    def run(self) -> None:
        """Builds the modules and copies the .pth file, for an editable wheel too.

        An editable wheel contains only the files of the folder `install_lib`.
        """
        super().run()
        editable = self.editable_mode
        folder = self.get_finalized_command("install").install_lib if editable else self.build_lib
        self.copy_file(str(ROOT / "python" / PTH), str(pathlib.Path(folder) / PTH))


scratch = tempfile.mkdtemp(prefix="tensor_array_grad-build-")
atexit.register(shutil.rmtree, scratch, ignore_errors=True)
setup(
    version=VERSIONS["__version__"],
    # A wheel for several releases requires no TensorFlow, because pip would install `tensorflow`
    # beside an installed `tensorflow-cpu`.
    install_requires=[] if PREBUILT else [requirement()],
    ext_modules=[CMakeExtension("tensor_array_grad._bind")],
    cmdclass={"build_ext": BuildWithCMake, "build_py": BuildWithPth},
    # Not the folder build/ of the checkout: files of an earlier build there would get into the
    # wheel.
    options={"build": {"build_base": scratch}},
)
