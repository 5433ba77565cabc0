"""Checks that CMake's lists of sources, BUILD and the tree agree; tools/check_tree.py runs them.

The build with Bazel itself is tools/bazel_check.sh.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

_OP_LIBRARY, _API = "libtensor_array_grad.so", "api"
# A GPU runs this test, and Bazel builds no CUDA.
_NOT_IN_BAZEL = {"cc/device/functors_gpu_test.cc"}
PUBLIC = "include"  # the folder of the public headers, from which they are included
_LEAST_SOURCES = 61  # if fewer are found, BUILD is not read correctly


class Target(NamedTuple):
    """One call of a rule in BUILD."""

    rule: str
    srcs: list[str]
    hdrs: list[str]
    deps: list[str]

    @property
    def files(self) -> list[str]:
        """The sources and headers, without other targets."""
        return [file for file in (*self.srcs, *self.hdrs) if not file.startswith(":")]

    @property
    def own_deps(self) -> list[str]:
        """The names of the targets of BUILD that this one depends on."""
        return [dep[1:] for dep in self.deps if dep.startswith(":")]


class Bazel:
    """The targets of BUILD, whose Starlark is also valid Python.

    Attributes:
      targets: By name.
      repeated: Names that two targets have.
    """

    def __init__(self, root: pathlib.Path) -> None:
        self._root = root
        self.targets: dict[str, Target] = {}
        self.repeated: list[str] = []
        ignored = ("load", "exports_files", "genrule")
        names: dict[str, Any] = {name: lambda *_, **__: None for name in ignored}
        names |= {name: self._rule(name) for name in ("cc_binary", "cc_library", "cc_test")}
        names["select"] = lambda options: options["//conditions:default"]
        names |= {"glob": self._glob, "TENSORFLOW_DISTRIBUTION": ""}
        names["TENSORFLOW_VERSION"] = "2.16.0"  # for which the tests have the most sources
        exec((root / "BUILD").read_text(), names)

    def reached(self, name: str) -> set[str]:
        """The files of the target `name` and of all its dependencies; none if it does not exist."""
        target = self.targets.get(name)
        if target is None:
            return set()
        return set(target.files).union(*(self.reached(dep) for dep in target.own_deps))

    def _rule(self, kind: str) -> Callable[..., None]:
        def call(name: str, **given: Any) -> None:
            if name in self.targets:
                self.repeated.append(name)
            lists = (given.get(key, []) for key in ("srcs", "hdrs", "deps"))
            self.targets[name] = Target(kind, *lists)

        return call

    def _glob(self, include: list[str], exclude: Iterable[str] = ()) -> list[str]:
        files = {file for pattern in include for file in self._root.glob(pattern)}
        files -= {file for pattern in exclude for file in self._root.glob(pattern)}
        return sorted(str(file.relative_to(self._root)) for file in files)


def includes(path: pathlib.Path) -> list[str]:
    """All headers that a C++ file includes."""
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), re.MULTILINE)


def own_includes(path: pathlib.Path) -> list[str]:
    """The headers of this project that a C++ file includes, as paths from the root."""
    public = [f"{PUBLIC}/{h}" for h in includes(path) if h.startswith("tensor_array_grad/")]
    return [*(h for h in includes(path) if h.startswith("cc/")), *public]


def _cmake(root: pathlib.Path) -> str:
    """The text of all CMake files, without comments."""
    files = [root / "CMakeLists.txt", *sorted((root / "cmake").glob("*.cmake"))]
    return re.sub(r"#.*", "", "\n".join(file.read_text() for file in files))


def _cmake_lists(root: pathlib.Path) -> dict[str, set[str]]:
    """The .cc files of CMake's lists of sources, such as TAG_BASE_SOURCES. Bazel builds no CUDA."""
    lists = re.findall(r"set\((TAG_\w+_SOURCES)\s+([^)]*)\)", _cmake(root))
    return {name: set(re.findall(r"\bcc/[\w/]+\.cc\b", files)) for name, files in lists}


def unity_targets(root: pathlib.Path) -> dict[str, set[str]]:
    """The .cc files of each of CMake's libraries, which a unity build compiles in a few units."""
    lists, targets = _cmake_lists(root), dict[str, set[str]]()
    for name, given in re.findall(
        r"(?:add_library|target_sources)\((\w+)\s([^)]*)\)", _cmake(root)
    ):
        for variable in re.findall(r"\$\{(TAG_\w+_SOURCES)\}", given):
            targets.setdefault(name, set()).update(lists.get(variable, ()))
    return targets


def _difference(where: str, has: set[str], needs: set[str], why: str) -> Iterator[str]:
    for file in sorted(needs - has):
        yield f"{where}: {file} is missing; {why}"
    for file in sorted(has - needs):
        yield f"{where}: {file} is too many; {why}"


def check_cmake_lists(root: pathlib.Path) -> Iterator[str]:
    """CMake lists every source of the tree, and nothing else."""
    listed = set(re.findall(r"\bcc/[\w/]+\.(?:cc|cu)\b", _cmake(root)))
    files = [path for kind in ("*.cc", "*.cu") for path in (root / "cc").rglob(kind)]
    there = {str(path.relative_to(root)) for path in files}
    yield from _difference("CMakeLists.txt", listed, there, "it lists the sources in cc")


def check_bazel_targets(root: pathlib.Path) -> Iterator[str]:
    """The targets of BUILD have names of their own and depend on targets that exist."""
    bazel = Bazel(root)
    for name in bazel.repeated:
        yield f"BUILD: two targets {name}"
    for name in {_OP_LIBRARY, _API} - set(bazel.targets):
        yield f"BUILD: no target {name}"
    for name, target in bazel.targets.items():
        for dep in target.own_deps:
            if dep not in bazel.targets:
                yield f"BUILD: {name} depends on :{dep}, which does not exist"


def check_bazel_sources(root: pathlib.Path) -> Iterator[str]:
    """BUILD links the sources that CMake links; the C++ API links no kernel.

    The API opens the op library at run time. Linked kernels would be a second copy of them.
    """
    bazel, lists = Bazel(root), _cmake_lists(root)
    api = lists.get("TAG_API_SOURCES", set())
    for target, needs in ((_OP_LIBRARY, set().union(*lists.values()) - api), (_API, api)):
        held = {file for file in bazel.reached(target) if file.endswith(".cc")}
        yield from _difference(f"BUILD: {target}", held, needs, "CMake's lists have the sources")
        if target == _OP_LIBRARY and len(held) < _LEAST_SOURCES:
            yield f"BUILD: {target}: {len(held)} sources found, need at least {_LEAST_SOURCES}"


def check_bazel_tests(root: pathlib.Path) -> Iterator[str]:
    """Bazel runs all C++ tests that CMake runs without a GPU."""
    tests = [target for target in Bazel(root).targets.values() if target.rule == "cc_test"]
    run = {file for target in tests for file in target.srcs if file.endswith("_test.cc")}
    listed = set(re.findall(r"\bcc/\w+/\w+_test\.cc\b", _cmake(root))) - _NOT_IN_BAZEL
    yield from _difference("BUILD: cc_test", run, listed, "CMake has the tests")


def check_bazel_dependences(root: pathlib.Path) -> Iterator[str]:
    """A target of BUILD includes only files of itself and of its dependencies."""
    bazel = Bazel(root)
    for name, target in bazel.targets.items():
        available = bazel.reached(name)
        for file in target.files:
            if not (root / file).exists():
                yield f"BUILD: {name} has {file}, which does not exist"
                continue
            own = set(own_includes(root / file))
            for header in sorted(own - available):
                yield f"{file}: includes {header}, which is in no dependency of {name} in BUILD"


def check_bazel_version(root: pathlib.Path) -> Iterator[str]:
    """Bazel's files have the version of the package."""
    text = (root / "python/tensor_array_grad/_version.py").read_text()
    found = re.search(r'__version__ = "([\d.]+)"', text)
    version = found[1] if found else "?"
    for name, pattern in (
        ("MODULE.bazel", f'version = "{version}"'),
        ("BUILD", f'"version": "{version}"'),
    ):
        if pattern not in (root / name).read_text():
            yield f"{name}: does not have {pattern}, the package's version"


CHECKS = (
    check_cmake_lists,
    check_bazel_targets,
    check_bazel_sources,
    check_bazel_tests,
    check_bazel_dependences,
    check_bazel_version,
)
