"""Runs clang-tidy on the library's sources: `python tools/tidy.py BUILD [FILE...]`.

The settings are in .clang-tidy. The lock annotations (ABSL_GUARDED_BY, ..), which g++ ignores, are
checked too. Without FILE, checks the sources of the library: no tests, nothing in cc/testing.
clang-tidy comes from the extra "lint"; from version 21 on it does not look into system headers.
BUILD is a folder that CMake has configured.

To read TensorFlow's headers takes a file 4 s, its own code less than 1 s. So the files of a folder
are joined to units, each a copy of some files one behind the other, as CMAKE_UNITY_BUILD compiles
them. The analyzer does not look into the functions of included files, so they are not included.
Files that BUILD does not compile are left out. A FILE is checked alone, without the precompiled
header: it must include all that it uses.
"""

from __future__ import annotations

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILES_PER_UNIT = 10
# By default the analyzer visits up to 225,000 states of a function. Where a function has that many,
# the first 100,000 take less than half of the time.
ANALYZER = ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=100000")
OPTIONS = (*ANALYZER, "-Wthread-safety", "-Wno-unknown-warning-option")
# What a command of CMake has in front of its flags, and what concerns files.
NOT_FLAGS = re.compile(r"^.*?\+\+\S* |-Winvalid-pch|-include \S+cmake_pch.hxx|-[oc] \S+")

Unit = list[pathlib.Path]


def sources() -> list[pathlib.Path]:
    """The sources of the library."""
    found = sorted((ROOT / "cc").rglob("*.cc"))
    return [file for file in found if "_test.cc" not in file.name and file.parent.name != "testing"]


def commands(build: pathlib.Path) -> dict[pathlib.Path, str]:
    """The flags with which `build` compiles each file."""
    entries = json.loads((build / "compile_commands.json").read_text())
    return {pathlib.Path(each["file"]): NOT_FLAGS.sub("", each["command"]) for each in entries}


def units(flags: dict[pathlib.Path, str]) -> list[Unit]:
    """The sources with the same folder and flags, in groups, the largest group first."""
    inside = collections.defaultdict[tuple[pathlib.Path, str], Unit](list)
    for file in sources():
        if file in flags:
            inside[file.parent, flags[file]].append(file)
    made: list[Unit] = []
    for files in inside.values():
        count = -(-len(files) // FILES_PER_UNIT)
        made += [files[first::count] for first in range(count)]
    return sorted(made, key=lambda unit: -sum(file.stat().st_size for file in unit))


def check(unit: Unit, flags: str, work: pathlib.Path) -> tuple[int, str]:
    """Checks the files of `unit` as one file, in the folder `work`.

    Returns:
      The exit status of clang-tidy, and what it printed, with the places in the files.
    """
    joined = work / f"{unit[0].parent.name}_{unit[0].name}"
    texts = [file.read_text() for file in unit]
    joined.write_text("".join(texts))
    command = ["clang-tidy", f"--config-file={ROOT / '.clang-tidy'}", "--quiet", str(joined), "--"]
    done = subprocess.run(
        [*command, *shlex.split(flags), *OPTIONS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    places = [
        f"{file.relative_to(ROOT)}:{number}"
        for file, text in zip(unit, texts, strict=True)
        for number in range(1, text.count("\n") + 1)
    ]
    printed = re.sub(
        rf"{re.escape(str(joined))}:(\d+)", lambda m: places[int(m[1]) - 1], done.stdout
    )
    # Standard error counts the warnings that are not shown, which are TensorFlow's.
    return done.returncode, printed or (done.stderr if done.returncode else "")


def main() -> int:
    """Prints what clang-tidy finds; returns 1 if it finds anything."""
    build, *names = map(pathlib.Path, sys.argv[1:])
    flags = commands(build)
    work = [[name.resolve()] for name in names] or units(flags)
    if unknown := [str(name) for name in names if name.resolve() not in flags]:
        sys.exit(f"{build} does not compile {', '.join(unknown)}")
    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        checks = pool.map(lambda unit: check(unit, flags[unit[0]], pathlib.Path(folder)), work)
        failed = 0
        for status, printed in checks:
            failed |= status != 0
            print(printed, end="", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
