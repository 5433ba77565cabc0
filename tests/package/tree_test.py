"""Rules of the source tree: dependencies, sizes of files, include guards, lists that must agree.

These tests read the checkout that contains them. All other tests use the installed package.
"""

from __future__ import annotations

import ast
import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tensor_array_grad"

pytestmark = pytest.mark.skipif(
    not (ROOT / "cc").is_dir(), reason="the tests lie outside a checkout"
)

# The headers that a folder of cc/ may include besides its own, by prefix. cc/core/counters.h, log.h
# and mutable_tensors.h depend neither on TensorFlow nor on other parts of this library, so that any
# layer may use them. block_pool.h and pooled_tensor.h provide memory, and depend on no array, list
# or loop.
MAY_INCLUDE = {
    "core": (),
    "device": ("cc/core/element_ops.h", "cc/core/counters.h", "cc/core/pooled_tensor.h"),
    "resource": ("cc/core/",),
    "lists": ("cc/core/block_pool.h", "cc/core/counters.h", "cc/core/release.h"),
    "slices": ("cc/core/counters.h", "cc/core/pooled_tensor.h", "cc/device/functors.h"),
    "kernels": ("cc/resource/", "cc/device/", "cc/core/", "cc/lists/", "cc/loop/", "cc/slices/"),
    "ops": (),
    # Small ops use the code of lists, of slices and of sums; node_util.h reads graphs.
    "loop": (
        "cc/core/block_pool.h",
        "cc/core/counters.h",
        "cc/core/element_ops.h",
        "cc/core/log.h",
        "cc/core/pooled_tensor.h",
        "cc/device/functors.h",
        "cc/graph/node_util.h",
        "cc/lists/",
        "cc/slices/",
    ),
    "graph": ("cc/core/counters.h", "cc/core/log.h", "cc/core/mutable_tensors.h"),
    # Declarations, through which the API reads the counters of a library that it has opened.
    "api": ("cc/bind/entry_points.h",),
    "bind": (
        "cc/core/counters.h",
        "cc/resource/",
        "cc/kernels/",
        "cc/graph/",
        "cc/lists/",
        "cc/loop/",
    ),
    "testing": ("cc/core/", "cc/device/", "cc/loop/", "cc/ops/"),
}
# Patterns of TensorFlow headers that a layer must not include, because only higher layers may.
MUST_NOT_KNOW = {
    "core": r"op_kernel|resource_mgr|Eigen|unsupported/|cuda|graph/|client/",
    "resource": r"op_kernel\.h|Eigen|unsupported/|cuda|graph/|client/",
    "lists": r"op_kernel\.h|resource_mgr|cuda|graph/|client/",
    "slices": r"op_kernel\.h|resource_mgr|cuda|graph/|client/",
    "ops": r"op_kernel|resource_mgr|Eigen|graph/|client/",
    "api": r"core/framework/op_kernel|resource_mgr|common_runtime",
}
# The modules of the package that each of its modules may import. The demo is not listed, because it
# is written like a program of a user.
MAY_IMPORT = {
    "_version": set(),
    "_tf_private": set(),
    "_loader": {"_version"},
    "gradients_v3": {"_tf_private", "_loader"},
    "gradients_list": {"_tf_private", "_loader"},
    "drop_in": {"_loader", "_tf_private", "gradients_v3", "gradients_list"},
    "raw_ops": {"_loader", "drop_in"},
    "status": {"_loader", "_version", "gradients_list"},
    "_command": set(),
    "__init__": {"_command", "_loader", "_version", "drop_in", "raw_ops", "status"},
    "__main__": {"_command", "_loader", "_version", "drop_in", "status"},
}
SPELLINGS = {
    r"\bStatus::OK\(\)": "absl::OkStatus()",
    r"\btensorflow::errors::": "absl::...Error",
    r"\btsl::(?!profiler::TraceMe)": "absl",
    r"\bStringPiece\b": "absl::string_view",
    r"\btensorflow::(mutex|int64|int32|Status|string)\b": "absl or std",
    r"#\s*if.*TF_(MAJOR|MINOR)_VERSION": "one source for every release",
}
CODE_LINES, TEST_LINES = 500, 700


def is_test(path: pathlib.Path) -> bool:
    return path.stem.endswith("_test") or "testing" in path.parts or ROOT / "tests" in path.parents


@functools.cache
def sources() -> list[pathlib.Path]:
    found = [p for kind in ("*.h", "*.cc", "*.cu") for p in (ROOT / "cc").rglob(kind)]
    return sorted(found)


@functools.cache
def modules() -> list[pathlib.Path]:
    folders = ["python", "tests", "benchmarks", "examples", "pep517", "cmake", "tools"]
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py"))


def name(path: pathlib.Path) -> str:
    return str(path.relative_to(ROOT))


def includes(path: pathlib.Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE)


def test_sources_and_modules_are_found():
    assert len(sources()) > 10
    assert len(modules()) > 10


@pytest.mark.parametrize("path", sources(), ids=name)
def test_a_folder_includes_only_headers_that_it_may_include(path):
    folder = path.relative_to(ROOT / "cc").parts[0]
    allowed = (f"cc/{folder}/", *MAY_INCLUDE[folder])
    if is_test(path):
        allowed = (*allowed, "cc/testing/", "cc/core/")
    ours = [header for header in includes(path) if header.startswith("cc/")]
    assert [header for header in ours if not header.startswith(allowed)] == []
    assert [header for header in ours if not (ROOT / header).exists()] == []


@pytest.mark.parametrize("path", [p for p in sources() if not is_test(p)], ids=name)
def test_no_layer_includes_headers_that_only_higher_layers_may_include(path):
    forbidden = MUST_NOT_KNOW.get(path.relative_to(ROOT / "cc").parts[0])
    if forbidden:
        assert [header for header in includes(path) if re.search(forbidden, header)] == []
    assert [header for header in includes(path) if header.startswith("cc/testing")] == []


@pytest.mark.parametrize("path", [p for p in sources() if p.suffix == ".h"], ids=name)
def test_the_include_guard_is_the_path(path):
    guard = re.sub(r"[^A-Z0-9]", "_", name(path).upper()) + "_"
    lines = path.read_text().rstrip().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("#"))
    assert lines[first : first + 2] == [f"#ifndef {guard}", f"#define {guard}"]
    assert lines[-1] == f"#endif  // {guard}"


@pytest.mark.parametrize("path", sources(), ids=name)
def test_our_code_is_in_our_namespace_and_spelled_for_every_release(path):
    text = re.sub(r'//.*|"(?:\\.|[^"\\\n])*"', "", path.read_text())
    assert not re.search(r"^namespace tensorflow\b", text, re.MULTILINE)
    for spelling, instead in SPELLINGS.items():
        assert not re.search(spelling, text), f"{spelling}: use {instead}"


def test_no_two_headers_define_a_type_of_one_name():
    # The linker keeps one of two inline destructors with the same name: the first that it finds.
    defined = [
        (type_name, name(path))
        for path in sources()
        if path.suffix == ".h"
        for type_name in re.findall(
            r"^(?:class|struct)\s+(?:alignas\([^)]*\)\s+)?(\w+)[^;{]*\{",
            path.read_text(),
            re.MULTILINE,
        )
    ]
    names = [type_name for type_name, _ in defined]
    assert len(names) > 15
    assert [pair for pair in defined if names.count(pair[0]) > 1] == []


def imports(path: pathlib.Path) -> set[str]:
    """All modules imported, dotted; `from a import b` counts as `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=name)
def test_a_module_imports_only_modules_that_it_may_import(path):
    ours = {i for i in imports(path) if i.split(".")[0] == "tensor_array_grad"}
    parts = {i.split(".")[1] if "." in i else "" for i in ours}
    assert parts <= MAY_IMPORT[path.stem]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=name)
def test_private_names_of_tensorflow_are_in_one_module(path):
    private = {i for i in imports(path) if i.startswith("tensorflow.python")}
    assert not private or path.stem == "_tf_private"


@pytest.mark.parametrize("path", [*sources(), *modules()], ids=name)
def test_no_file_is_too_long(path):
    lines = len(path.read_text().splitlines())
    assert lines <= (TEST_LINES if is_test(path) else CODE_LINES)


def test_cmake_lists_every_source_and_nothing_else():
    cmake = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    text = re.sub(r"#.*", "", "\n".join(path.read_text() for path in cmake))
    listed = re.findall(r"\bcc/[\w/]+\.(?:cc|cu)\b", text)
    there = {name(path) for path in sources() if path.suffix in (".cc", ".cu")}
    assert set(listed) - there == set()
    assert there - set(listed) == set()


def test_the_versions_in_the_documents_are_those_of_the_package():
    text = (PACKAGE / "_version.py").read_text()
    version, low, high = (
        re.search(rf'{key} = "([\d.]+)"', text)[1]
        for key in ("__version__", "TENSORFLOW_MIN", "TENSORFLOW_MAX")
    )
    readme = (ROOT / "README.md").read_text()
    assert f"{low}" in readme
    assert f"{high}" in readme
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_readme_is_short_and_has_the_two_commands():
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) < 150
    assert "pip install '.[demo]' && python -m tensor_array_grad.demo" in readme
    assert "pip install '.[test]' && pytest" in readme


def test_pinned_tools_are_the_same_everywhere():
    pins = dict(re.findall(r'"(clang-format|ruff|mypy)==([\d.]+)"', _text("pyproject.toml")))
    assert set(pins) == {"clang-format", "ruff", "mypy"}
    for tool, version in pins.items():
        assert f"{tool}=={version}" in _text(".pre-commit-config.yaml")
    assert f"clang-format {pins['clang-format']}" in _text(".clang-format")


def _text(path: str) -> str:
    return (ROOT / path).read_text()
