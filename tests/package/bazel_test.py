"""Compares BUILD with CMake's lists of sources and with the includes of the files.

The build with Bazel itself is tools/bazel_check.sh.
"""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    not (ROOT / "BUILD").exists(), reason="the tests lie outside a checkout"
)


class Target(NamedTuple):
    """One call of a rule in BUILD."""

    rule: str
    srcs: list[str]
    hdrs: list[str]
    deps: list[str]

    @property
    def files(self) -> list[str]:
        return [file for file in (*self.srcs, *self.hdrs) if not file.startswith(":")]


def _glob(include: list[str], exclude: list[str] | None = None) -> list[str]:
    files = {file for pattern in include for file in ROOT.glob(pattern)}
    files -= {file for pattern in exclude or [] for file in ROOT.glob(pattern)}
    return sorted(str(file.relative_to(ROOT)) for file in files)


@functools.cache
def targets() -> dict[str, Target]:
    """Executes BUILD, whose Starlark is also valid Python, and returns its targets by name."""
    found: dict[str, Target] = {}

    def rule(kind: str) -> Callable[..., None]:
        def call(name: str, **given: Any) -> None:
            assert name not in found, f"two targets {name}"
            found[name] = Target(kind, *(given.get(key, []) for key in ("srcs", "hdrs", "deps")))

        return call

    ignored = ("load", "exports_files", "genrule")
    names: dict[str, Any] = {name: lambda *_, **__: None for name in ignored}
    names |= {name: rule(name) for name in ("cc_binary", "cc_library", "cc_test")}
    names |= {"glob": _glob, "TENSORFLOW_VERSION": "", "TENSORFLOW_DISTRIBUTION": ""}
    exec((ROOT / "BUILD").read_text(), names)
    return found


def reached(name: str) -> set[str]:
    """The files of the target `name` and of all its dependencies."""
    own = [dep[1:] for dep in targets()[name].deps if dep.startswith(":")]
    return set(targets()[name].files).union(*(reached(dep) for dep in own))


@functools.cache
def cmake() -> str:
    files = [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))]
    return re.sub(r"#.*", "", "\n".join(file.read_text() for file in files))


def cmake_lists() -> dict[str, set[str]]:
    """The .cc files of CMake's lists of sources, such as TAG_CORE_SOURCES. Bazel builds no CUDA."""
    lists = re.findall(r"set\((TAG_\w+_SOURCES)\s+([^)]*)\)", cmake())
    return {name: set(re.findall(r"\bcc/[\w/]+\.cc\b", files)) for name, files in lists}


def test_the_op_library_holds_the_sources_that_cmake_links_into_it():
    held = {file for file in reached("libtensor_array_grad.so") if file.endswith(".cc")}
    lists = cmake_lists()
    assert held == set().union(*lists.values()) - lists["TAG_API_SOURCES"]
    assert len(held) > 60


def test_the_cpp_api_links_no_kernel():
    # The API opens the op library at run time. Linked kernels would be a second copy of them.
    assert {f for f in reached("api") if f.endswith(".cc")} == cmake_lists()["TAG_API_SOURCES"]


def test_bazel_runs_all_cpp_tests_that_cmake_runs_without_a_gpu():
    run = {file for t in targets().values() if t.rule == "cc_test" for file in t.srcs}
    listed = set(re.findall(r"\bcc/\w+/\w+_test\.cc\b", cmake())) - {
        "cc/device/functors_gpu_test.cc"
    }
    assert {file for file in run if file.endswith("_test.cc")} == listed


@pytest.mark.parametrize("name", sorted(targets()) if (ROOT / "BUILD").exists() else [])
def test_a_target_includes_only_files_of_its_dependencies(name):
    available = reached(name)
    for file in targets()[name].files:
        included = re.findall(r'^\s*#\s*include "(cc/[^"]+)"', (ROOT / file).read_text(), re.M)
        missing = set(included) - available
        assert not missing, file


def test_the_files_of_bazel_have_the_version_of_the_package():
    text = (ROOT / "python/tensor_array_grad/_version.py").read_text()
    version = re.search(r'__version__ = "([\d.]+)"', text)[1]
    assert f'version = "{version}"' in (ROOT / "MODULE.bazel").read_text()
    assert f'"version": "{version}"' in (ROOT / "BUILD").read_text()
