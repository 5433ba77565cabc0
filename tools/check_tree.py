"""Checks the rules of the source tree: `python tools/check_tree.py`.

Prints one line per problem and exits with code 1 if there is any:

    cc/lists/node.h: includes cc/flow/frame.h, but cc/lists may include only cc/lists/, cc/base/

The rules are: which part may depend on which, include guards, spelling, sizes of files, and facts
that several files state and that must agree. tools/build_lists.py has those about CMake and Bazel.
Needs the standard library only, no TensorFlow and no build.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from collections.abc import Callable, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from tools import build_lists

# The folders of cc/ whose headers a folder may include besides its own.
MAY_INCLUDE: dict[str, tuple[str, ...]] = {
    "base": ("include/tensor_array_grad/records.h",),
    "ops": (),
    "device": ("cc/base/",),
    "array": ("cc/base/",),
    "resource": ("cc/array/", "cc/base/", "include/tensor_array_grad/records.h"),
    "lists": ("cc/base/",),
    "slices": ("cc/device/", "cc/base/"),
    "flow": ("cc/base/",),
    "sums": ("cc/flow/", "cc/base/"),
    "rewrite": ("cc/sums/", "cc/flow/", "cc/base/"),
    "small_ops": ("cc/flow/", "cc/lists/", "cc/slices/", "cc/device/", "cc/base/"),
    "compile": ("cc/flow/", "cc/base/"),
    "schedule": ("cc/compile/", "cc/base/"),
    "run": (
        *("cc/schedule/", "cc/compile/", "cc/small_ops/", "cc/flow/", "cc/device/", "cc/base/"),
    ),
    "kernels": (
        *("cc/run/", "cc/resource/", "cc/array/", "cc/lists/", "cc/slices/", "cc/device/"),
        *("cc/base/", "include/tensor_array_grad/records.h"),
    ),
    "bind": (
        "include/",
        *("cc/kernels/", "cc/run/", "cc/compile/", "cc/rewrite/", "cc/resource/", "cc/base/"),
    ),
    # Declarations, through which the API reads the counters of a library that it has opened.
    "api": ("cc/bind/entry_points.h", "include/"),
    "tensor_array_grad": ("include/",),  # the public headers, in include/
    "testing": (
        *("cc/run/", "cc/compile/", "cc/small_ops/", "cc/flow/", "cc/device/", "cc/base/"),
    ),
}
# Patterns of TensorFlow headers that a layer must not include, because only higher layers may.
MUST_NOT_KNOW = {
    "base": r"op_kernel|resource_mgr|Eigen|unsupported/|cuda|graph/|client/",
    "array": r"op_kernel|resource_mgr|Eigen|unsupported/|cuda|graph/|client/",
    "resource": r"op_kernel\.h|Eigen|unsupported/|cuda|graph/|client/",
    "lists": r"op_kernel\.h|resource_mgr|cuda|graph/|client/",
    "slices": r"op_kernel\.h|resource_mgr|cuda|graph/|client/",
    "ops": r"op_kernel|resource_mgr|Eigen|graph/|client/",
    "api": r"core/framework/op_kernel|resource_mgr|common_runtime",
}
# The modules of the package that each of its modules may import. The demo is not listed, because it
# is written like a program of a user.
MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    "_tf_private": set(),
    "_loader": {"_tf_private", "_version"},
    "gradients_v3": {"_tf_private"},
    "_integers": {"_tf_private"},
    "_first_write": {"_integers", "_tf_private"},
    "gradients_list": {"_first_write", "_tf_private"},
    "explained": set(),
    "_where": {"_tf_private", "explained"},
    "_advice": {"_where"},
    "drop_in": {"_command", "_loader", "_tf_private", "_where", "gradients_v3", "gradients_list"},
    "observer": {"_advice", "_loader", "_where", "drop_in", "explained"},
    "raw_ops": {"drop_in"},
    "status": {"_command", "_counters", "_loader", "_version", "explained", "gradients_list"}
    | {"observer"},
    "_command": set(),
    "_counters": set(),
    "_report": {"_command", "_compiled", "_loader", "_tf_private", "observer", "status"},
    "_compiled": set(),
    "_runs": {"_command", "_compiled", "_report"},
    "_comparison": {"_counters", "_report", "_runs"},
    "_compare": {"_command", "_comparison", "_report", "_runs"},
    "_page": {"explained"},
    "_explain": {"_command", "_page", "drop_in", "explained", "observer"},
    "__init__": {
        *("_command", "_compiled", "_explain", "_loader", "_report", "_version"),
        *("drop_in", "explained", "observer", "raw_ops", "status"),
    },
    "__main__": {"_command", "_compare", "_explain", "_loader", "_report", "_version", "drop_in"}
    | {"status"},
}
# The folders from which a folder of tests may import, besides itself and `support`.
TESTS_MAY_IMPORT = {"random_programs": ("lists", "loops")}
SPELLINGS = {
    r"\bStatus::OK\(\)": "absl::OkStatus()",
    r"\btensorflow::errors::": "absl::...Error",
    r"\btsl::(?!profiler::TraceMe)": "absl",
    r"\bStringPiece\b": "absl::string_view",
    r"\btensorflow::(mutex|int64|int32|Status|string)\b": "absl or std",
    r"\b(absl::)?GetCurrentTimeNanos\b|\bsystem_clock\b": "SteadyNanos, which is never set",
    r"#\s*if.*TF_(MAJOR|MINOR)_VERSION": "one source for every release",
}
CODE_LINES, TEST_LINES, README_LINES = 500, 700, 119
README_COMMANDS = (
    "pip install '.[demo]' && python -m tensor_array_grad.demo",
    "pip install '.[test]' && pytest",
)
PINNED = {"clang-format", "ruff", "mypy"}
# A check that finds fewer files, types or names than this does not look in the right place.
_LEAST_FILES, _LEAST_TYPES, _LEAST_UNNAMED = 11, 16, 300
_TYPE = re.compile(
    r"^(?:class|struct)\s+(?:alignas\([^)]*\)\s+)?(\w+)[^;{]*\{",
    re.MULTILINE,
)
_UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# A definition that begins a line: of a type, or of a function, a constant or another variable.
_DEFINITION = re.compile(
    r"^(?:class|struct|union|enum(?: class)?)\s+(?:alignas\([^)]*\)\s+)?(\w+)[^;({]*\{"
    r"|^(?!(?:using|typedef|namespace|class|struct|union|enum)\b)"
    r"[A-Za-z][^;{}()=#]*?[\s*&](\w*[a-z]\w*)(?:\[\w*\])*\s*[({=;]",
    re.MULTILINE,
)

# A check takes the root of a checkout and yields one line for each problem.
Check = Callable[[pathlib.Path], Iterator[str]]


# ---- files ---------------------------------------------------------------------------------------


def sources(root: pathlib.Path) -> list[pathlib.Path]:
    """The C++ and CUDA files."""
    folders = ("cc", build_lists.PUBLIC)
    return sorted(
        p for top in folders for kind in ("*.h", "*.cc", "*.cu") for p in (root / top).rglob(kind)
    )


def modules(root: pathlib.Path) -> list[pathlib.Path]:
    """The Python files."""
    folders = ["python", "tests", "benchmarks", "examples", "pep517", "cmake", "tools"]
    return sorted(p for folder in folders for p in (root / folder).rglob("*.py"))


def is_test(file: pathlib.Path) -> bool:
    """Whether `file`, relative to the root, is a test or is used by tests only."""
    return file.stem.endswith("_test") or "testing" in file.parts or file.parts[0] == "tests"


def imports(path: pathlib.Path) -> set[str]:
    """All modules imported, dotted: `from a import b` is `a.b`; a relative import is `.`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update("." if node.level else f"{node.module}.{a.name}" for a in node.names)
    return found


# ---- C++ -----------------------------------------------------------------------------------------


def check_files_are_found(root: pathlib.Path) -> Iterator[str]:
    """Guards the other checks, which pass if they look at no file."""
    for kind, found in (("sources in cc", sources(root)), ("Python modules", modules(root))):
        if len(found) < _LEAST_FILES:
            yield f"{root}: {len(found)} {kind} found, need at least {_LEAST_FILES}"


def check_includes(root: pathlib.Path) -> Iterator[str]:
    """A folder includes only headers that MAY_INCLUDE lists, and that exist."""
    for path in sources(root):
        file = path.relative_to(root)
        folder = file.parts[1]
        if folder not in MAY_INCLUDE:
            yield f"{file}: MAY_INCLUDE in tools/check_tree.py has no entry for cc/{folder}"
            continue
        allowed = (f"cc/{folder}/", *MAY_INCLUDE[folder])
        if is_test(file):
            allowed = (*allowed, "cc/testing/", "cc/base/")
        for header in build_lists.own_includes(path):
            if not header.startswith(allowed):
                may = ", ".join(allowed)
                yield f"{file}: includes {header}, but cc/{folder} may include only {may}"
            if not (root / header).exists():
                yield f"{file}: includes {header}, which does not exist"


def check_layers(root: pathlib.Path) -> Iterator[str]:
    """No layer includes headers that only higher layers or tests may include."""
    for path in sources(root):
        file = path.relative_to(root)
        if is_test(file):
            continue
        forbidden = MUST_NOT_KNOW.get(file.parts[1])
        for header in build_lists.includes(path):
            if forbidden and re.search(forbidden, header):
                yield f"{file}: includes {header}, which only layers above cc/{file.parts[1]} may"
            if header.startswith("cc/testing"):
                yield f"{file}: includes {header}, which only tests may"


def check_include_guards(root: pathlib.Path) -> Iterator[str]:
    """The include guard of a header is its path."""
    for path in sources(root):
        if path.suffix != ".h":
            continue
        file = path.relative_to(root)
        name = str(file).removeprefix(f"{build_lists.PUBLIC}/")
        guard = re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_"
        lines = path.read_text().rstrip().splitlines()
        first = next((i for i, line in enumerate(lines) if line.startswith("#")), 0)
        opens = lines[first : first + 2] == [f"#ifndef {guard}", f"#define {guard}"]
        if not opens or lines[-1] != f"#endif  // {guard}":
            yield f"{file}: the include guard is not {guard}, in #ifndef, #define and #endif"


def check_spelling(root: pathlib.Path) -> Iterator[str]:
    """Our code is in our namespace, and compiles with every release of TensorFlow."""
    for path in sources(root):
        file = path.relative_to(root)
        text = re.sub(r'//.*|"(?:\\.|[^"\\\n])*"', "", path.read_text())
        if re.search(r"^namespace tensorflow\b", text, re.MULTILINE):
            yield f"{file}: code in namespace tensorflow; use tensor_array_grad"
        for spelling, instead in SPELLINGS.items():
            found = re.search(spelling, text)
            if found:
                yield f"{file}: {found[0]}; use {instead}"


def check_type_names(root: pathlib.Path) -> Iterator[str]:
    """No two headers define a type of the same name.

    The linker keeps one of two inline destructors with the same name: the first that it finds.
    """
    defined: dict[str, list[str]] = {}
    for path in sources(root):
        if path.suffix == ".h":
            for name in _TYPE.findall(path.read_text()):
                defined.setdefault(name, []).append(str(path.relative_to(root)))
    if len(defined) < _LEAST_TYPES:
        yield f"{root}/cc: {len(defined)} types found in headers, need at least {_LEAST_TYPES}"
    for name, files in defined.items():
        if len(files) > 1:
            yield f"{files[1]}: defines {name}, as {files[0]} does"


def check_unnamed_namespaces(root: pathlib.Path) -> Iterator[str]:
    """No two files of a library define the same name in an unnamed namespace.

    A unity build compiles several files of a library as one unit, in which such a name clashes.
    """
    count = 0
    for files in build_lists.unity_targets(root).values():
        defined: dict[str, str] = {}
        for file in sorted(file for file in files if (root / file).exists()):
            names = dict.fromkeys(unnamed(root / file))
            count += len(names)
            for name in names:
                if name in defined:
                    both = f"as {defined[name]} does; a unity build may compile both as one unit"
                    yield f"{file}: defines {name} in an unnamed namespace, {both}"
                defined.setdefault(name, file)
    if count < _LEAST_UNNAMED:
        yield f"{root}/cc: {count} names in unnamed namespaces, need at least {_LEAST_UNNAMED}"


def unnamed(path: pathlib.Path) -> list[str]:
    """The types, functions and variables that a C++ file defines in unnamed namespaces."""
    inside = "".join(_UNNAMED.findall(path.read_text()))
    return [kind or other for kind, other in _DEFINITION.findall(inside)]


# ---- Python --------------------------------------------------------------------------------------


def check_package_imports(root: pathlib.Path) -> Iterator[str]:
    """A module of the package imports only modules that MAY_IMPORT lists."""
    for path in sorted((root / "python/tensor_array_grad").glob("*.py")):
        file = path.relative_to(root)
        if path.stem not in MAY_IMPORT:
            yield f"{file}: MAY_IMPORT in tools/check_tree.py has no entry for {path.stem}"
            continue
        for name in sorted(imports(path)):
            if name == ".":
                yield f"{file}: imports relatively; write `from tensor_array_grad import ...`"
            package, _, rest = name.partition(".")
            module = rest.partition(".")[0]
            if package == "tensor_array_grad" and module not in MAY_IMPORT[path.stem]:
                yield f"{file}: imports {name}, but {path.stem} may not import {module}"


def check_private_names(root: pathlib.Path) -> Iterator[str]:
    """Private modules of TensorFlow are imported in _tf_private.py only."""
    for path in sorted((root / "python/tensor_array_grad").rglob("*.py")):
        if path.stem == "_tf_private":
            continue
        for name in sorted(imports(path)):
            if name.startswith("tensorflow.python"):
                yield f"{path.relative_to(root)}: imports {name}, which only _tf_private.py may"


def check_test_folders(root: pathlib.Path) -> Iterator[str]:
    """Each test is in a folder of its subject, which imports what TESTS_MAY_IMPORT lists only."""
    for path in sorted((root / "tests").rglob("*.py")):
        file = path.relative_to(root)
        folder = file.parts[1] if len(file.parts) > 2 else "support"
        if len(file.parts) == 2 and file.name not in ("__init__.py", "conftest.py"):
            yield f"{file}: is in no folder of a subject, such as tests/v3"
        allowed = {folder, "support", *TESTS_MAY_IMPORT.get(folder, ())}
        for name in sorted(imports(path)):
            if name == ".":
                yield f"{file}: imports relatively; write `from tests.{folder} import ...`"
            elif name.startswith("tests.") and name.split(".")[1] not in allowed:
                yield f"{file}: imports {name}; move what several folders need to tests/support"


# ---- all files -----------------------------------------------------------------------------------


def check_sizes(root: pathlib.Path) -> Iterator[str]:
    """No file is too long."""
    for path in [*sources(root), *modules(root)]:
        file = path.relative_to(root)
        lines = len(path.read_text().splitlines())
        most = TEST_LINES if is_test(file) else CODE_LINES
        if lines > most:
            yield f"{file}: {lines} lines, may have {most}"


def check_documents(root: pathlib.Path) -> Iterator[str]:
    """The documents name the package's versions; the README is short and has the two commands."""
    versions = (root / "python/tensor_array_grad/_version.py").read_text()
    readme = (root / "README.md").read_text()
    changelog = (root / "CHANGELOG.md").read_text()
    citation = (root / "CITATION.cff").read_text()
    for key, text, document, form in (
        ("__version__", changelog, "CHANGELOG.md", "## {}"),
        ("__version__", citation, "CITATION.cff", "version: {}"),
        ("TENSORFLOW_MIN", readme, "README.md", "{}"),
        ("TENSORFLOW_MAX", readme, "README.md", "{}"),
    ):
        found = re.search(rf'{key} = "([\d.]+)"', versions)
        if not found:
            yield f"python/tensor_array_grad/_version.py: no {key}"
        elif form.format(found[1]) not in text:
            yield f"{document}: does not have `{form.format(found[1])}`, the package's {key}"
    lines = len(readme.splitlines())
    if lines > README_LINES:
        yield f"README.md: {lines} lines, may have {README_LINES}"
    for command in README_COMMANDS:
        if command not in readme:
            yield f"README.md: does not have the command `{command}`"


def check_pins(root: pathlib.Path) -> Iterator[str]:
    """The pinned versions of the linters are the same everywhere."""
    hooks = (root / ".pre-commit-config.yaml").read_text()
    style = (root / ".clang-format").read_text()
    pattern = rf'"({"|".join(sorted(PINNED))})==([\d.]+)"'
    pins = sorted(set(re.findall(pattern, (root / "pyproject.toml").read_text())))
    for tool in sorted(PINNED - {tool for tool, _ in pins}):
        yield f"pyproject.toml: does not pin {tool}"
    for tool, version in pins:
        if f"{tool}=={version}" not in hooks:
            yield f".pre-commit-config.yaml: {tool} is not {version}, as in pyproject.toml"
        if tool == "clang-format" and f"clang-format {version}" not in style:
            yield f".clang-format: clang-format is not {version}, as in pyproject.toml"


CHECKS: tuple[Check, ...] = (
    check_files_are_found,
    check_includes,
    check_layers,
    check_include_guards,
    check_spelling,
    check_type_names,
    check_unnamed_namespaces,
    check_package_imports,
    check_private_names,
    check_test_folders,
    check_sizes,
    check_documents,
    check_pins,
    *build_lists.CHECKS,
)


def problems(root: pathlib.Path) -> list[str]:
    """One line for each problem of the checkout at `root`."""
    return [problem for check in CHECKS for problem in check(root)]


def main() -> int:
    """Prints the problems of the checkout that contains this file; returns the exit code."""
    found = problems(pathlib.Path(__file__).resolve().parent.parent)
    for problem in found:
        print(problem)
    print(f"{len(CHECKS)} checks of the tree; problems: {len(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
