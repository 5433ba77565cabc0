"""tools/check_tree.py reports every kind of fault: tests plant them in a copy of the checkout."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tensor_array_grad import _version
from tools import build_lists, check_tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("cc", "include", "python", "tests", "benchmarks", "examples", "pep517", "cmake", "tools")

pytestmark = pytest.mark.skipif(
    not (ROOT / "cc").is_dir(), reason="the tests lie outside a checkout"
)

LOG, LOG_HEADER = "cc/base/log.cc", "cc/base/log.h"
GUARD = f"{LOG_HEADER}: the include guard is not CC_BASE_LOG_H_, in #ifndef, #define and #endif"
PACKAGE = "python/tensor_array_grad"
VERSION = _version.__version__
LISTS = "CMake's lists have the sources"


class Fault(NamedTuple):
    """A change of one file, and the problems that the check must report.

    `old` is replaced by `new`. If `old` is empty, `new` is put before the text of the file. If
    `old` is None, `new` is the text of a new file.
    """

    check: check_tree.Check
    file: str
    old: str | None
    new: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.check.__name__}-{self.file}-{self.new[:40].strip()!r}"


def fault(check: check_tree.Check, file: str, old: str | None, new: str, *problems: str) -> Fault:
    return Fault(check, file, old, new, problems)


def misspelt(code: str, problem: str) -> Fault:
    return fault(check_tree.check_spelling, LOG, "", f"{code}\n", f"{LOG}: {problem}")


FAULTS = [
    fault(
        check_tree.check_includes,
        LOG,
        "",
        '#include "cc/kernels/kernel_util.h"\n',
        f"{LOG}: includes cc/kernels/kernel_util.h, but cc/base may include only cc/base/, "
        "include/tensor_array_grad/records.h",
    ),
    fault(
        check_tree.check_includes,
        LOG,
        "",
        '#include "cc/base/absent.h"\n',
        f"{LOG}: includes cc/base/absent.h, which does not exist",
    ),
    fault(
        check_tree.check_includes,
        "cc/odd/odd.cc",
        None,
        "int odd;\n",
        "cc/odd/odd.cc: MAY_INCLUDE in tools/check_tree.py has no entry for cc/odd",
    ),
    fault(
        check_tree.check_layers,
        LOG,
        "",
        '#include "tensorflow/core/framework/op_kernel.h"\n',
        f"{LOG}: includes tensorflow/core/framework/op_kernel.h, which only layers above cc/base"
        " may",
    ),
    fault(
        check_tree.check_layers,
        LOG,
        "",
        '#include "cc/testing/graph_under_test.h"\n',
        f"{LOG}: includes cc/testing/graph_under_test.h, which only tests may",
    ),
    fault(check_tree.check_include_guards, LOG_HEADER, "#ifndef CC_BASE", "#ifndef BASE", GUARD),
    fault(check_tree.check_include_guards, LOG_HEADER, "#define CC_BASE", "#define BASE", GUARD),
    fault(check_tree.check_include_guards, LOG_HEADER, "#endif  // CC", "#endif  //", GUARD),
    fault(check_tree.check_include_guards, LOG_HEADER, "", "#pragma once\n", GUARD),
    misspelt("namespace tensorflow {}", "code in namespace tensorflow; use tensor_array_grad"),
    misspelt("return Status::OK();", "Status::OK(); use absl::OkStatus()"),
    misspelt("tensorflow::errors::Internal();", "tensorflow::errors::; use absl::...Error"),
    misspelt("tsl::Env* env;", "tsl::; use absl"),
    misspelt("StringPiece text;", "StringPiece; use absl::string_view"),
    misspelt("tensorflow::int64 n;", "tensorflow::int64; use absl or std"),
    misspelt("system_clock::now();", "system_clock; use SteadyNanos, which is never set"),
    misspelt(
        "#if TF_MAJOR_VERSION > 1",
        "#if TF_MAJOR_VERSION; use one source for every release",
    ),
    fault(
        check_tree.check_spelling, LOG, "", '// StringPiece\nauto text = "tsl::";\n'
    ),  # comments and strings are not code
    fault(
        check_tree.check_type_names,
        LOG_HEADER,
        "",
        "class ArrayStore {};\n",
        f"{LOG_HEADER}: defines ArrayStore, as cc/array/array_store.h does",
    ),
    *(
        fault(
            check_tree.check_unnamed_namespaces,
            "cc/rewrite/pushed_list.cc",
            "",
            f"namespace {{\n\n{code}\n\n}}  // namespace\n",
            f"cc/rewrite/{other}: defines {name} in an unnamed namespace, as"
            " cc/rewrite/pushed_list.cc does; a unity build may compile both as one unit",
        )
        for name, other, code in (
            ("IsOf", "recomputable_value.cc", "bool IsOf() { return true; }"),
            ("IsOf", "recomputable_value.cc", "std::pair<int, bool>* IsOf(\n    int a) {\n}"),
            ("IsOf", "recomputable_value.cc", "template <typename T>\nbool IsOf(T a) {\n}"),
            ("IsOf", "recomputable_value.cc", "class IsOf : public Node {\n};"),
            ("IsOf", "recomputable_value.cc", "struct IsOf {};"),
            ("IsOf", "recomputable_value.cc", "enum class IsOf : char { kOne };"),
            ("kDeepestExpression", "recomputable_value.cc", "const int kDeepestExpression = 8;"),
            ("kDeepestExpression", "recomputable_value.cc", 'char kDeepestExpression[] = "";'),
            ("kDeepestExpression", "recomputable_value.cc", "std::string kDeepestExpression{};"),
        )
    ),
    *(
        fault(
            check_tree.check_unnamed_namespaces,
            "cc/rewrite/pushed_list.cc",
            "",
            code,
        )
        for code in (
            "bool IsOf() { return true; }\n",  # not in an unnamed namespace
            "namespace {\n\n// bool IsOf() {}\nbool Other() {\n  bool IsOf = true;\n}\n\n"
            "}  // namespace\n",  # in a comment and in a function
            "namespace {\n\nbool kPhase() {}\n\n}  // namespace\n",  # in another library
        )
    ),
    fault(
        check_tree.check_package_imports,
        f"{PACKAGE}/_version.py",
        "",
        "from tensor_array_grad import status\n",
        f"{PACKAGE}/_version.py: imports tensor_array_grad.status, but _version may not import"
        " status",
    ),
    fault(
        check_tree.check_package_imports,
        f"{PACKAGE}/_version.py",
        "",
        "from . import status\n",
        f"{PACKAGE}/_version.py: imports relatively; write `from tensor_array_grad import ...`",
    ),
    fault(
        check_tree.check_package_imports,
        f"{PACKAGE}/odd.py",
        None,
        "",
        f"{PACKAGE}/odd.py: MAY_IMPORT in tools/check_tree.py has no entry for odd",
    ),
    fault(
        check_tree.check_private_names,
        f"{PACKAGE}/demo/program.py",
        "",
        "from tensorflow.python.eager import context\n",
        f"{PACKAGE}/demo/program.py: imports tensorflow.python.eager.context, which only"
        " _tf_private.py may",
    ),
    fault(
        check_tree.check_test_folders,
        "tests/odd_test.py",
        None,
        "",
        "tests/odd_test.py: is in no folder of a subject, such as tests/v3",
    ),
    fault(
        check_tree.check_test_folders,
        "tests/v3/access_test.py",
        "",
        "from tests.loops import own_nodes\n",
        "tests/v3/access_test.py: imports tests.loops.own_nodes; move what several folders need"
        " to tests/support",
    ),
    fault(
        check_tree.check_test_folders,
        "tests/support/script.py",
        "",
        "from tests.v3 import access_test\n",
        "tests/support/script.py: imports tests.v3.access_test; move what several folders need to"
        " tests/support",
    ),
    fault(
        check_tree.check_test_folders,
        "tests/v3/access_test.py",
        "",
        "from . import bulk_test\n",
        "tests/v3/access_test.py: imports relatively; write `from tests.v3 import ...`",
    ),
    fault(
        check_tree.check_sizes,
        "cc/base/long.cc",
        None,
        501 * "\n",
        "cc/base/long.cc: 501 lines, may have 500",
    ),
    fault(
        check_tree.check_sizes,
        "tools/long.py",
        None,
        501 * "\n",
        "tools/long.py: 501 lines, may have 500",
    ),
    fault(
        check_tree.check_sizes,
        "cc/base/long_test.cc",
        None,
        701 * "\n",
        "cc/base/long_test.cc: 701 lines, may have 700",
    ),
    fault(
        check_tree.check_sizes,
        "tests/support/long.py",
        None,
        701 * "\n",
        "tests/support/long.py: 701 lines, may have 700",
    ),
    fault(
        check_tree.check_documents,
        "CHANGELOG.md",
        f"## {VERSION}",
        "## Old",
        f"CHANGELOG.md: does not have `## {VERSION}`, the package's __version__",
    ),
    fault(
        check_tree.check_documents,
        "CITATION.cff",
        f"version: {VERSION}",
        "version: 9",
        f"CITATION.cff: does not have `version: {VERSION}`, the package's __version__",
    ),
    *(
        fault(
            check_tree.check_documents,
            "README.md",
            version,
            "?",
            f"README.md: does not have `{version}`, the package's {key}",
        )
        for key, version in (
            ("TENSORFLOW_MIN", _version.TENSORFLOW_MIN),
            ("TENSORFLOW_MAX", _version.TENSORFLOW_MAX),
        )
    ),
    fault(
        check_tree.check_documents,
        f"{PACKAGE}/_version.py",
        "TENSORFLOW_MIN =",
        "LEAST =",
        f"{PACKAGE}/_version.py: no TENSORFLOW_MIN",
    ),
    *(
        fault(
            check_tree.check_documents,
            "README.md",
            command,
            "?",
            f"README.md: does not have the command `{command}`",
        )
        for command in check_tree.README_COMMANDS
    ),
    fault(
        check_tree.check_pins,
        "pyproject.toml",
        '"ruff==',
        '"ruff>=',
        "pyproject.toml: does not pin ruff",
    ),
    fault(
        build_lists.check_cmake_lists,
        "CMakeLists.txt",
        f"  {LOG}\n",
        "",
        f"CMakeLists.txt: {LOG} is missing; it lists the sources in cc",
    ),
    fault(
        build_lists.check_cmake_lists,
        "CMakeLists.txt",
        LOG,
        f"{LOG} cc/base/absent.cc",
        "CMakeLists.txt: cc/base/absent.cc is too many; it lists the sources in cc",
    ),
    fault(
        build_lists.check_bazel_targets,
        "BUILD",
        'name = "device"',
        'name = "base"',
        "BUILD: two targets base",
        "BUILD: slices depends on :device, which does not exist",
        "BUILD: small_ops depends on :device, which does not exist",
        "BUILD: testing depends on :device, which does not exist",
        "BUILD: device_test depends on :device, which does not exist",
    ),
    fault(
        build_lists.check_bazel_targets,
        "BUILD",
        'name = "libtensor_array_grad.so"',
        'name = "other.so"',
        "BUILD: no target libtensor_array_grad.so",
    ),
    fault(
        build_lists.check_bazel_sources,
        "BUILD",
        'exclude = ["cc/{}/*_test.cc".format(layer)]',
        'exclude = ["cc/{}/*_test.cc".format(layer), ' + f'"{LOG}"]',
        f"BUILD: libtensor_array_grad.so: {LOG} is missing; {LISTS}",
    ),
    fault(
        build_lists.check_bazel_sources,
        "BUILD",
        '        ":public_headers",\n        "@pip_tensorflow//:cc",',
        '        ":public_headers",\n        ":ops",',
        f"BUILD: api: cc/ops/list_ops.cc is too many; {LISTS}",
        f"BUILD: api: cc/ops/loop_ops.cc is too many; {LISTS}",
        f"BUILD: api: cc/ops/slice_sum_ops.cc is too many; {LISTS}",
    ),
    fault(
        build_lists.check_bazel_tests,
        "BUILD",
        'srcs = glob(["cc/kernels/*_test.cc"])',
        'srcs = ["cc/kernels/absent_test.cc"]',
        "BUILD: cc_test: cc/kernels/activation_test.cc is missing; CMake has the tests",
        "BUILD: cc_test: cc/kernels/absent_test.cc is too many; CMake has the tests",
    ),
    fault(
        build_lists.check_bazel_dependences,
        "cc/slices/slice_adder.cc",
        "",
        '#include "cc/lists/node.h"\n',
        "cc/slices/slice_adder.cc: includes cc/lists/node.h, which is in no dependency of slices"
        " in BUILD",
    ),
    fault(
        build_lists.check_bazel_dependences,
        "BUILD",
        "cc/device/cuda_absent.cc",
        "cc/device/absent.cc",
        "BUILD: device has cc/device/absent.cc, which does not exist",
    ),
    fault(
        build_lists.check_bazel_version,
        "MODULE.bazel",
        f'version = "{VERSION}"',
        'version = "9"',
        f'MODULE.bazel: does not have version = "{VERSION}", the package\'s version',
    ),
    fault(
        build_lists.check_bazel_version,
        "BUILD",
        f'"version": "{VERSION}"',
        '"version": "9"',
        f'BUILD: does not have "version": "{VERSION}", the package\'s version',
    ),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A copy of the files of the checkout that the checks read."""
    root = tmp_path_factory.mktemp("checkout")
    unread = shutil.ignore_patterns("*.so", "*.a", "*.json", "*.jsonl", "__pycache__")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, root / folder, ignore=unread)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, root)
    return root


@pytest.fixture
def planted(request: pytest.FixtureRequest, copy: pathlib.Path) -> Iterator[Fault]:
    """Plants a fault in the copy, and restores the copy after the test."""
    change: Fault = request.param
    path = copy / change.file
    before = None if change.old is None else path.read_text()
    if before is None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(change.new)
    else:
        assert change.old in before
        after = before.replace(change.old, change.new) if change.old else change.new + before
        path.write_text(after)
    yield change
    if before is None:
        path.unlink()
    else:
        path.write_text(before)


def test_this_checkout_has_no_problem():
    assert check_tree.problems(ROOT) == []


@pytest.mark.parametrize("planted", FAULTS, ids=str, indirect=True)
def test_a_planted_fault_is_reported(planted, copy):
    assert sorted(planted.check(copy)) == sorted(planted.problems)


@pytest.mark.parametrize("tool", ["ruff", "mypy", "clang-format"])
def test_a_version_that_differs_from_the_pinned_one_is_reported(copy, tool):
    path = copy / ".pre-commit-config.yaml"
    text = path.read_text()
    path.write_text(text.replace(f"{tool}==", f"{tool}==9"))
    (problem,) = check_tree.check_pins(copy)
    path.write_text(text)
    assert problem.startswith(f".pre-commit-config.yaml: {tool} is not ")
    assert problem.endswith(", as in pyproject.toml")


def test_another_clang_format_than_the_pinned_one_is_reported(copy):
    path = copy / ".clang-format"
    text = path.read_text()
    path.write_text(text.replace("clang-format ", "clang-format 9"))
    (problem,) = check_tree.check_pins(copy)
    path.write_text(text)
    assert problem.startswith(".clang-format: clang-format is not ")


def test_a_readme_that_is_too_long_is_reported(copy):
    path = copy / "README.md"
    text = path.read_text()
    path.write_text(text + 150 * "\n")
    (problem,) = check_tree.check_documents(copy)
    path.write_text(text)
    assert problem == f"README.md: {len(text.splitlines()) + 150} lines, may have 119"


def test_a_check_that_finds_no_files_reports_that(tmp_path):
    assert list(check_tree.check_files_are_found(tmp_path)) == [
        f"{tmp_path}: 0 sources in cc found, need at least 11",
        f"{tmp_path}: 0 Python modules found, need at least 11",
    ]
    assert list(check_tree.check_type_names(tmp_path)) == [
        f"{tmp_path}/cc: 0 types found in headers, need at least 16"
    ]
    (tmp_path / "CMakeLists.txt").write_text("")
    assert list(check_tree.check_unnamed_namespaces(tmp_path)) == [
        f"{tmp_path}/cc: 0 names in unnamed namespaces, need at least 300"
    ]


def test_a_build_file_that_links_few_sources_is_reported(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("")
    (tmp_path / "BUILD").write_text('cc_binary(name = "libtensor_array_grad.so")\n')
    assert list(build_lists.check_bazel_sources(tmp_path)) == [
        "BUILD: libtensor_array_grad.so: 0 sources found, need at least 61"
    ]


def test_each_check_has_a_planted_fault():
    elsewhere = {check_tree.check_files_are_found}
    assert {fault.check for fault in FAULTS} | elsewhere == set(check_tree.CHECKS)


@pytest.mark.parametrize(
    "planted",
    [misspelt("StringPiece a;", "StringPiece; use absl::string_view")],
    ids=["spelling"],
    indirect=True,
)
def test_the_program_prints_the_problems_and_fails(planted, copy):
    command = [sys.executable, str(copy / "tools" / "check_tree.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        *planted.problems,
        f"{len(check_tree.CHECKS)} checks of the tree; problems: 1",
    ]
    assert done.returncode == 1


def test_the_program_succeeds_without_problems(copy):
    command = [sys.executable, str(copy / "tools" / "check_tree.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{len(check_tree.CHECKS)} checks of the tree; problems: 0\n"
