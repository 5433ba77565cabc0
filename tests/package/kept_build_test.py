"""setup.py keeps what it has built and builds again only if the key of the build has changed."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

from tests.support.fake_cmake import FakeCMake, program, tensorflow

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="the tests lie outside a checkout"),
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("setuptools", "pybind11"))),
        reason="setuptools or pybind11 is not installed",
    ),
]


# Runs setup.py with an rmtree that ends the process when it has removed the first file of a build.
INTERRUPTED = """
import os, pathlib, runpy, shutil
removed = shutil.rmtree
def rmtree(folder, *arguments, **options):
    files = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
    if files and pathlib.Path("build/pip").resolve() in files[0].resolve().parents:
        files[0].unlink()
        os._exit(9)
    removed(folder, *arguments, **options)
shutil.rmtree = rmtree
runpy.run_path("setup.py", run_name="__main__")
"""


class Checkout:
    """A copy of the files from which setup.py builds, and a fake CMake."""

    def __init__(self, folder: pathlib.Path):
        self.root = folder / "checkout"
        self.root.mkdir()
        for name in ("setup.py", "CMakeLists.txt"):
            shutil.copy(ROOT / name, self.root)
        for name in ("cmake", "include"):
            shutil.copytree(ROOT / name, self.root / name)
        version = pathlib.Path("python", "tensor_array_grad", "_version.py")
        (self.root / version).parent.mkdir(parents=True)
        shutil.copy(ROOT / version, self.root / version)
        self.kept = self.root / "build" / "pip"
        self.source = self.root / "cc" / "source.cc"
        self.source.parent.mkdir()
        self.source.write_text("int one = 1;\n")
        library = folder / "library.so"
        library.write_text("built")
        self.cmake = FakeCMake(folder / "tools", [library])

    @property
    def builds(self) -> int:
        return self.cmake.builds

    def build(self, **environment: str) -> str:
        """Builds the extension, as pip does, and checks that the package gets it."""
        out = self.root / "out"
        shutil.rmtree(out, ignore_errors=True)
        done = self.run("setup.py", **environment)
        assert done.returncode == 0, done.stderr
        assert (out / "tensor_array_grad" / "library.so").read_text() == "built"
        return done.stdout

    def run(self, *program: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs Python with `program`, which is setup.py or runs it."""
        return subprocess.run(
            [sys.executable, *program, "-q", "build_ext", "--build-lib", str(self.root / "out")],
            env=os.environ | self.cmake.environment | environment,
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def checkout(tmp_path) -> Checkout:
    made = Checkout(tmp_path)
    made.build()
    assert made.builds == 1
    return made


def test_an_unchanged_checkout_is_not_built_again(checkout):
    checkout.build()
    assert checkout.builds == 1


@pytest.mark.parametrize(
    "file", ["cc/source.cc", "CMakeLists.txt", "cmake/exports.map", "cmake/new.cmake"]
)
def test_a_changed_or_new_source_is_built(checkout, file):
    with (checkout.root / file).open("a") as opened:
        opened.write("\n")
    checkout.build()
    assert checkout.builds == 2


def test_a_source_of_another_name_is_built(checkout):
    checkout.source.rename(checkout.source.with_name("renamed.cc"))
    checkout.build()
    assert checkout.builds == 2


@pytest.mark.parametrize(
    "change",
    [
        {"CMAKE_ARGS": "-DCMAKE_BUILD_TYPE=Debug"},
        {"CPLUS_INCLUDE_PATH": "/opt/include"},
    ],
)
def test_other_flags_are_built(checkout, change):
    checkout.build(**change)
    assert checkout.builds == 2
    checkout.build()
    checkout.build(**change)
    assert checkout.builds == 2


def test_another_release_of_the_compiler_at_the_same_path_is_built(checkout):
    program(checkout.cmake.compiler, "#!/bin/sh\necho 13.1\n")
    checkout.build()
    assert checkout.builds == 2


def test_the_same_tensorflow_in_another_folder_is_not_built_again(checkout, tmp_path):
    checkout.build(FAKE_TENSORFLOW=str(tensorflow(tmp_path / "moved", b"2.21")))
    assert checkout.builds == 1


def test_another_tensorflow_in_the_same_folder_is_built(checkout):
    folder = pathlib.Path(checkout.cmake.environment["FAKE_TENSORFLOW"])
    (folder / "libtensorflow_framework.so.2").write_bytes(b"2.20")
    checkout.build()
    assert checkout.builds == 2


def test_a_checkout_that_cannot_be_written_is_built_each_time(checkout):
    shutil.rmtree(checkout.root / "build")
    (checkout.root / "build").write_text("a file, so that no folder can be made here")
    assert "This build is not kept" in checkout.build()
    checkout.build()
    assert checkout.builds == 3


@pytest.mark.parametrize(
    ("option", "file"),
    [
        ("CMAKE_TOOLCHAIN_FILE={}", "arm.cmake"),
        ("TAG_CUDA_RUNTIME={}", "libcudart_static.a"),
        ("TAG_CUDA_INCLUDE={.parent}", "cuda_runtime_api.h"),
    ],
)
def test_another_toolchain_or_cuda_at_the_same_path_is_built(checkout, tmp_path, option, file):
    path = tmp_path / file
    arguments = "-D" + option.format(path)
    for contents in ("one", "other"):
        path.write_text(contents)
        checkout.build(CMAKE_ARGS=arguments)
        checkout.build(CMAKE_ARGS=arguments)
    assert checkout.builds == 3


def test_a_cuda_that_cmake_did_not_find_is_no_file(checkout):
    for _ in range(2):
        checkout.build(CMAKE_ARGS="-DTAG_CUDA_RUNTIME=TAG_CUDA_RUNTIME-NOTFOUND")
    assert checkout.builds == 2


def test_a_variable_may_have_bytes_that_are_not_utf8(checkout):
    for _ in range(2):
        checkout.build(CPATH=os.fsdecode(b"/opt/\xff"))
    assert checkout.builds == 2


def test_a_build_whose_key_is_not_known_is_compiled_each_time(checkout, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    for _ in range(2):
        assert "it has no key" in checkout.build(FAKE_TENSORFLOW=str(bare))
    assert checkout.builds == 3


def test_a_build_that_cannot_get_its_name_leaves_no_folder(checkout):
    (kept,) = checkout.kept.iterdir()
    shutil.rmtree(kept)
    kept.write_text("not a folder")
    assert "This build is not kept" in checkout.build()
    assert list(checkout.kept.iterdir()) == [kept]


def test_a_build_whose_removal_was_interrupted_is_not_used(checkout):
    for number in range(3):
        checkout.build(CMAKE_ARGS=f"-DNUMBER={number}")
    interrupted = checkout.run("-c", INTERRUPTED, CMAKE_ARGS="-DNUMBER=3")
    assert interrupted.returncode == 9, interrupted.stderr
    checkout.build()  # the build whose removal has begun
    assert checkout.builds == 6


def test_what_an_interrupted_process_has_left_is_removed_after_a_day(checkout):
    old, young = checkout.kept / "tmpold", checkout.kept / "tmpyoung"
    for folder, age in ((old, 25), (young, 23)):
        folder.mkdir()
        os.utime(folder, 2 * (time.time() - age * 3600,))
    for number in range(3):
        checkout.build(CMAKE_ARGS=f"-DNUMBER={number}")
    assert (old.exists(), young.exists()) == (False, True)
    checkout.build()
    assert checkout.builds == 4  # the two folders did not count as builds


def test_a_build_that_was_used_lately_is_kept(checkout):
    for number in range(3):
        checkout.build(CMAKE_ARGS=f"-DNUMBER={number}")
    checkout.build()
    checkout.build(CMAKE_ARGS="-DNUMBER=3")
    checkout.build()
    assert checkout.builds == 5


def test_four_builds_are_kept(checkout):
    for number in range(5):
        checkout.build(CMAKE_ARGS=f"-DNUMBER={number}")
    assert checkout.builds == 6
    assert len(list(checkout.kept.iterdir())) == 4
    checkout.build(CMAKE_ARGS="-DNUMBER=4")
    assert checkout.builds == 6
