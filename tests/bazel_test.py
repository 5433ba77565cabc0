"""BUILD against CMake's lists and the includes: they say one thing in two languages.

No current Bazel is to be had where this is developed, so BUILD is checked, not built: its syntax
and format by buildifier, its targets, sources and dependencies here.
"""

from __future__ import annotations

import ast
import functools
import os
import pathlib
import re
import shutil
import subprocess
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAZEL_FILES = ("BUILD", "MODULE.bazel", "bazel/BUILD", "bazel/pip_tensorflow.bzl")

pytestmark = pytest.mark.skipif(
    not (ROOT / "BUILD").exists(), reason="the tests lie outside a checkout"
)

# The targets behind a header that is not ours, by the start of its path; the first that fits.
EXTERNAL = {
    "tensorflow/cc/": "@pip_tensorflow//:cc",
    "tensorflow/c/": "@pip_tensorflow//:cc",
    "tensorflow/": "@pip_tensorflow//:framework",
    "xla/": "@pip_tensorflow//:framework",
    "absl/": "@pip_tensorflow//:framework",  # the wheel's own copy: two would not mix
    "unsupported/Eigen/": "@pip_tensorflow//:framework",
    "gtest/": "@googletest//:gtest_main",
    "gmock/": "@googletest//:gtest_main",
    "pybind11/": "",  # pybind_extension adds it
}
# What nobody calls by name, so that a linker would leave it out: registrations and exports.
KEPT = re.compile(
    r"\bREGISTER_OP\(|\bREGISTER_OPTIMIZATION\(|\bat_load\b"
    r"|^namespace tensor_array_grad::introspection|^void tensor_array_grad_",
    re.MULTILINE,
)
# Macros that CMake defines for some sources.
DEFINED = ("TAG_TENSORFLOW_VERSION", "TAG_ALLOW_HOLES")


class Target(NamedTuple):
    """One call in BUILD."""

    rule: str
    name: str
    srcs: list[str]
    hdrs: list[str]
    deps: list[str]
    attributes: dict[str, ast.expr]

    @property
    def files(self) -> list[str]:
        return [*self.srcs, *self.hdrs]


def _strings(value: ast.expr | None) -> list[str]:
    return [] if value is None else list(ast.literal_eval(value))


@functools.cache
def targets() -> dict[str, Target]:
    """All of BUILD: as much of Starlark as it uses is Python."""
    found = {}
    for statement in ast.parse((ROOT / "BUILD").read_text()).body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        if not {"srcs", "hdrs", "deps"} & given.keys():
            continue
        name = ast.literal_eval(given["name"])
        lists = [_strings(given.get(key)) for key in ("srcs", "hdrs", "deps")]
        lists[0] = [source for source in lists[0] if not source.startswith(":")]
        assert name not in found, f"two targets {name}"
        found[name] = Target(call.func.id, name, *lists, given)
    return found


def libraries() -> list[Target]:
    return [target for target in targets().values() if target.rule == "cc_library"]


@functools.cache
def cmake() -> str:
    files = [ROOT / "CMakeLists.txt", *sorted((ROOT / "cmake").glob("*.cmake"))]
    return re.sub(r"#.*", "", "\n".join(file.read_text() for file in files))


@functools.cache
def cmake_lists() -> dict[str, list[str]]:
    """CMake's lists of sources, TAG_CORE_SOURCES and so on; Bazel builds no CUDA."""
    lists = re.findall(r"set\((TAG_\w+_SOURCES)\s+([^)]*)\)", cmake())
    return {name: re.findall(r"\bcc/[\w/]+\.cc\b", files) for name, files in lists}


def cmake_tests() -> dict[str, set[str]]:
    """The sources of each C++ test, those aside that are part of a library."""
    tests = re.findall(r"^\s*tag_test\((\w+)([^)]*)\)", cmake(), re.MULTILINE)
    return {name: set(re.findall(r"\bcc/[\w/]+\.cc\b", files)) for name, files in tests}


@functools.cache
def includes(file: str) -> frozenset[str]:
    text = (ROOT / file).read_text()
    return frozenset(re.findall(r'^\s*#\s*include\s*[<"]([^>"]+/[^>"]+)[>"]', text, re.MULTILINE))


@functools.cache
def owners() -> dict[str, str]:
    """The target of each header."""
    return {header: target.name for target in libraries() for header in target.hdrs}


def needed(target: Target) -> list[str]:
    """The dependencies that the includes of a target ask for, in buildifier's order."""
    deps = set()
    for header in frozenset().union(*(includes(file) for file in target.files)):
        if header.startswith("cc/"):
            assert header in owners(), f"{target.name} includes {header}, which is in no target"
            deps.add(f":{owners()[header]}")
        else:
            label = next((EXTERNAL[s] for s in EXTERNAL if header.startswith(s)), "")
            deps.update([label] if label else [])
    if "@pip_tensorflow//:cc" in deps:  # it carries the other
        deps.discard("@pip_tensorflow//:framework")
    return sorted(deps - {f":{target.name}"}, key=lambda label: (label[0] == "@", label))


def reached(name: str) -> set[str]:
    """The targets of ours that `name` depends on, itself included."""
    seen, todo = set(), [name]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo += [dep[1:] for dep in targets()[current].deps if dep.startswith(":")]
    return seen


def test_every_header_has_one_target_of_its_own():
    found = (str(path.relative_to(ROOT)) for path in (ROOT / "cc").rglob("*.h"))
    # A stand-in for a toolkit that Bazel does not use.
    headers = sorted(header for header in found if "/fake_cuda/" not in header)
    assert len(headers) > 20
    assert sorted(header for target in libraries() for header in target.hdrs) == headers
    for target in libraries():
        assert [pathlib.Path(header).stem for header in target.hdrs] in ([], [target.name])


def test_the_libraries_hold_each_source_of_cmakes_lists_once_and_no_other():
    listed = sorted(file for files in cmake_lists().values() for file in files)
    assert len(listed) > 20
    testing = [file for files in cmake_tests().values() for file in files if "_test.cc" not in file]
    built = sorted(file for target in libraries() for file in target.srcs)
    assert built == sorted({*listed, *testing})


@pytest.mark.parametrize("name", sorted(targets()) if (ROOT / "BUILD").exists() else [])
def test_the_dependencies_of_a_target_are_what_its_sources_include(name):
    target = targets()[name]
    if target.rule == "cc_binary" and not target.srcs:
        return  # a shared library: see the test of what it holds
    if target.rule == "cc_test":  # and what only linking needs
        assert set(needed(target)) <= set(target.deps)
        assert target.deps == sorted(target.deps, key=lambda label: (label[0] == "@", label))
    else:
        assert target.deps == needed(target)


def test_the_op_library_holds_the_sources_that_cmake_links_into_it():
    held = {file for name in reached("libtensor_array_grad.so") for file in targets()[name].srcs}
    api = set(cmake_lists()["TAG_API_SOURCES"])
    listed = {file for files in cmake_lists().values() for file in files}
    assert held == listed - api


def test_the_cpp_api_links_no_kernel():
    # It opens the op library; a copy of the kernels in the program would be a second one.
    held = {file for name in reached("load") for file in targets()[name].srcs}
    assert held <= set(cmake_lists()["TAG_API_SOURCES"])


def test_sources_that_register_or_export_something_are_always_linked():
    for target in libraries():
        kept = any(KEPT.search((ROOT / file).read_text()) for file in target.srcs)
        assert kept == ("alwayslink" in target.attributes), target.name


def test_sources_that_need_a_macro_get_it():
    for target in libraries():
        text = "".join((ROOT / file).read_text() for file in target.srcs)
        given = ast.unparse(target.attributes.get("local_defines", ast.List([])))
        for macro in DEFINED:
            assert (macro in text) == (macro in given), f"{target.name}: {macro}"


def test_the_tests_are_those_of_cmake():
    tests = {t.name: set(t.srcs) for t in targets().values() if t.rule == "cc_test"}
    in_libraries = {file for target in libraries() for file in target.srcs}
    assert tests == {name: srcs - in_libraries for name, srcs in cmake_tests().items()}


def test_the_example_programs_are_those_of_cmake():
    text = (ROOT / "examples/cc/CMakeLists.txt").read_text()
    programs = dict(re.findall(r"add_executable\((\w+) (\w+\.cc)\)", text))
    built = {t.name: t.srcs for t in targets().values() if t.rule == "cc_binary" and t.srcs}
    assert built == {name: [f"examples/cc/{file}"] for name, file in programs.items()}
    assert len(built) == 2


def test_no_target_depends_on_itself():
    for name, target in targets().items():
        for dep in target.deps:
            if dep.startswith(":"):
                assert name not in reached(dep[1:]), f"{name} and {dep}"


def test_the_module_has_the_version_of_the_package():
    version = (ROOT / "python/tensor_array_grad/_version.py").read_text()
    number = re.search(r'__version__ = "([\d.]+)"', version)[1]
    assert f'version = "{number}"' in (ROOT / "MODULE.bazel").read_text()


def _buildifier() -> str | None:
    return os.environ.get("BUILDIFIER") or shutil.which("buildifier")


@pytest.mark.skipif(_buildifier() is None, reason="no buildifier: npm i -g @bazel/buildifier")
def test_buildifier_finds_nothing_to_change_or_warn_of():
    command = [str(_buildifier()), "-mode=check", "-lint=warn", "-warnings=all", *BAZEL_FILES]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
