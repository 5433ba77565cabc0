"""Measures the C++ tests by mutation: `python tools/mutate.py --mutants 150 --seed 1 --build DIR`.

A mutant is the library with one small change: another operator, another boundary of a comparison,
another constant or result, a statement removed, or a condition negated. The C++ tests of the
changed file's layer must fail on it. If all tests pass, either a test is missing or the changed
code has no effect.

`--seed` draws the mutants, the same number from each file as long as the file has enough. With the
same seed, a larger `--mutants` draws the same mutants and more. Only code in function bodies is
changed, no declaration, message or comment. The source tree does not change: the mutants are made
in a copy below `--build` and compiled without optimisation. Each mutant is a line of
`DIR/mutants.jsonl`:

    killed    a test failed or crashed
    hung      a test program was still running after `--limit` seconds
    survived  all tests passed
    invalid   the mutant does not compile, and does not count

`--resume` keeps the lines of the file and runs only the mutants that it lacks. To run survivors
again after adding a test, remove their lines: `sed -i /survived/d DIR/mutants.jsonl`.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import filecmp
import itertools
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = "-DTAG_CUDA=OFF -DCMAKE_BUILD_TYPE=None '-DCMAKE_CXX_FLAGS=-O0 -DNDEBUG'"
TESTED_BY = {"cc/sums": "cc/rewrite"}  # layers that the tests of another layer test
MOST_MEMORY = 16 << 30  # bytes for a test program: some mutants never stop allocating

HIDDEN = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|^\s*#(?:[^\n]*\\\n)*[^\n]*"
# Calls whose arguments are messages, or checks by the compiler.
MESSAGE = r"\b(?:errors::\w+|\w*Error|StrCat|Invalid|D?CHECK\w*|V?LOG|static_assert)\("
SWAPS = {
    "operator": (("+", "-"), ("*", "/"), ("%", "/"), ("&", "|"), ("<<", ">>"), ("+=", "-=")),
    "boundary": (("<", "<="), (">", ">="), ("==", "!=")),
    "logic": (("&&", "||"),),
}
# The target of an assignment, or the callee of a call.
PLACE = r"\*?\w+(?:\(\w*\)|(?:\.|->|::)\w+|\[[^]=;]*\])*"
STATEMENT = re.compile(
    r"(?<=[;{})])\s+(?!return|throw|break|continue|static_assert|D?CHECK|V?LOG)"
    rf"((?:\+\+|--)?{PLACE}(?: [-+*/|&]?= [^;{{]*|\([^;{{]*\)|(?:\+\+|--)?);)"
)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change: `before`, at `offset` of the file, becomes `after`."""

    file: str
    line: int
    offset: int
    kind: str
    before: str
    after: str


def _blank(pattern: str, text: str) -> str:
    """`text` with spaces in place of each match of `pattern`; offsets do not change."""
    flags = re.MULTILINE | re.DOTALL
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=flags)


def _closing(text: str, begin: int) -> int:
    """The offset of the parenthesis that closes the one at `begin`."""
    depth = 0
    for i in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError(f"no closing parenthesis: {text[begin:]}")


def running_code(text: str) -> str:
    """`text` with spaces in place of everything outside function bodies, and of messages."""
    text = _blank(HIDDEN, text)
    for call in re.finditer(MESSAGE, text):
        if text[call.start()] != " ":  # otherwise the call was inside another one
            begin, end = call.end(), _closing(text, call.end() - 1)
            text = text[:begin] + " " * (end - begin) + text[end:]
    start = 0
    scopes: list[bool] = []  # for each open brace, whether it is inside a function body
    runs: list[bool] = []
    for i, char in enumerate(text):
        if char == "{":
            head = re.sub(r"\btemplate <[^\n]*>", "", text[start:i])
            declares = re.search(r"\b(namespace|class|struct|enum|union)\b|=\s*$", head)
            scopes.append(any(scopes) or not declares)
        elif char == "}":
            scopes.pop()
        if char in "{};":
            start = i + 1
        runs.append(char == "\n" or any(scopes))
    return "".join(char if run else " " for char, run in zip(text, runs, strict=True))


def _changes(code: str) -> Iterator[tuple[str, int, str, str]]:
    """All changes to `code`: kind, offset, before, after."""
    for kind, pairs in SWAPS.items():
        for one, other in itertools.chain(pairs, (pair[::-1] for pair in pairs)):
            for found in re.finditer(rf"(?<= ){re.escape(one)}(?= |$)", code, re.MULTILINE):
                yield kind, found.start(), one, other
    for found in re.finditer(r"(?<![\w.])\d+(?![\w.])", code):
        for step in (-1, 1):
            yield "constant", found.start(), found[0], f"{int(found[0]) + step}"
    for found in re.finditer(r"(?<=\breturn )(true|false)\b", code):
        yield "result", found.start(), found[0], "false" if found[0] == "true" else "true"
    for found in STATEMENT.finditer(code):
        yield "dropped", found.start(1), found[1], ";"
    for found in re.finditer(r"\b(?:if|while) \((?=[^;]*?\))", code):
        condition = code[found.end() : _closing(code, found.end() - 1)]
        if not re.search(r"[^=!<>]=[^=]| [=!]= |;", condition):  # no declaration, no boundary
            yield "negated", found.end(), condition, f"!({condition})"


def mutants_of(file: str, text: str) -> list[Mutant]:
    """Every mutant of one file, in order."""
    found = []
    for kind, offset, code, after in _changes(running_code(text)):
        before = text[offset : offset + len(code)]  # with its strings and comments
        line = text.count("\n", 0, offset) + 1
        found.append(Mutant(file, line, offset, kind, before, after.replace(code, before)))
    return sorted(found, key=dataclasses.astuple)


def draw(paths: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """The first `count` mutants of `seed`, in the order of their files.

    Each file gives the same number as long as it has enough. A path is a file, or a folder that
    means its `.cc` files, below the root of the checkout.
    """
    given = [ROOT / path for path in paths]
    files = [file for path in given for file in (sorted(path.glob("*.cc")) or [path])]
    rows = []
    for file in (str(f.relative_to(ROOT)) for f in files if not f.stem.endswith("_test")):
        rows.append(mutants_of(file, (ROOT / file).read_text()))
        random.Random(f"{seed} {file}").shuffle(rows[-1])
    turns = itertools.chain.from_iterable(itertools.zip_longest(*rows))
    drawn = list(itertools.islice((mutant for mutant in turns if mutant is not None), count))
    return sorted(drawn, key=lambda mutant: files.index(ROOT / mutant.file))


class Workshop:
    """A copy of the checkout in which one mutant at a time is built and tested."""

    def __init__(self, build: pathlib.Path, limit: float) -> None:
        self._tree, self._out, self._limit = build / "tree", build / "out", limit
        self._tree.mkdir(parents=True, exist_ok=True)
        for path in ROOT.iterdir():
            if path.name not in (".git", "cc") and not (self._tree / path.name).is_symlink():
                (self._tree / path.name).symlink_to(path)
        # Files with the same content keep their times, so that they are not compiled again.
        shutil.copytree(ROOT / "cc", self._tree / "cc", copy_function=_copy, dirs_exist_ok=True)
        command = f"cmake -G Ninja -S {self._tree} -B {self._out} {FLAGS}"
        command += f" -DPython_EXECUTABLE={sys.executable}"
        subprocess.run(shlex.split(command), check=True, stdout=subprocess.DEVNULL)

    def tests_of(self, file: str) -> list[str]:
        """The test programs of the layer of `file`, those named after it first."""
        listed = re.findall(r"tag_test\((\w+)([^)]*)\)", (ROOT / "CMakeLists.txt").read_text())
        folder, stem = str(pathlib.PurePath(file).parent), pathlib.PurePath(file).stem
        folder = TESTED_BY.get(folder, folder)
        tests = [name for name, sources in listed if f"{folder}/" in sources]
        if not tests:
            raise RuntimeError(f"no test program has a file of {folder}")
        return sorted(tests, key=lambda test: stem not in test)

    def outcome(self, mutant: Mutant) -> tuple[str, str]:
        """The outcome of the tests on `mutant`, and the test that determined it."""
        place = self._tree / mutant.file
        text = place.read_text()
        end = mutant.offset + len(mutant.before)
        try:
            place.write_text(text[: mutant.offset] + mutant.after + text[end:])
            return self._judge(mutant.file, CCACHE_READONLY="1")
        finally:
            place.write_text(text)

    def check(self, file: str) -> None:
        """Raises RuntimeError if the tests of the layer of `file` fail without a mutant."""
        outcome, test = self._judge(file)
        if outcome != "survived":
            raise RuntimeError(f"without any mutant: {outcome} {test}")

    def _judge(self, file: str, **environment: str) -> tuple[str, str]:
        for test in self.tests_of(file):
            command = ["ninja", "-C", str(self._out), "-j1", test]
            variables = {**os.environ, **environment}
            built = subprocess.run(command, env=variables, stdout=subprocess.DEVNULL, check=False)
            outcome = "invalid" if built.returncode else self._run(test)
            if outcome != "survived":
                return outcome, test
        return "survived", ""

    def _run(self, test: str) -> str:
        command = [str(self._out / test), "--gtest_fail_fast", "--gtest_brief=1"]
        with pathlib.Path(os.devnull).open("w") as none:
            process = subprocess.Popen(command, stdout=none, stderr=none, start_new_session=True)
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
        try:
            return "killed" if process.wait(self._limit) else "survived"
        except subprocess.TimeoutExpired:
            return "hung"
        finally:  # kills the test program and the processes that it started
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _copy(source: str, target: str) -> None:
    if not pathlib.Path(target).exists() or not filecmp.cmp(source, target, shallow=False):
        shutil.copyfile(source, target)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the mutants, prints one line for each, and prints how many the tests noticed."""
    parser = argparse.ArgumentParser(prog="python tools/mutate.py")
    parser.add_argument("--mutants", type=int, default=150, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--paths", nargs="+", default=["cc/array", "cc/lists", "cc/schedule", "cc/run"]
    )
    parser.add_argument("--build", type=pathlib.Path, required=True, help="outside the checkout")
    parser.add_argument("--limit", type=float, default=60, help="seconds per test program")
    parser.add_argument("--resume", action="store_true", help="keep the results of earlier runs")
    options = parser.parse_args(arguments)
    workshop = Workshop(options.build.resolve(), options.limit)
    results = options.build / "mutants.jsonl"
    if not options.resume:
        results.unlink(missing_ok=True)
    lines = results.read_text().splitlines() if results.exists() else []
    rows = [json.loads(line) for line in lines]
    done = [{k: v for k, v in row.items() if k not in ("outcome", "test")} for row in rows]
    drawn = draw(options.paths, options.mutants, options.seed)
    todo = [mutant for mutant in drawn if dataclasses.asdict(mutant) not in done]
    for file in {str(pathlib.PurePath(m.file).parent): m.file for m in todo}.values():
        workshop.check(file)
    with results.open("a") as out:
        for mutant in todo:
            outcome, test = workshop.outcome(mutant)
            rows.append({"outcome": outcome, "test": test, **dataclasses.asdict(mutant)})
            print(json.dumps(rows[-1]), file=out, flush=True)
            print(f"{outcome:8} {mutant.file}:{mutant.line} {mutant.kind}:", end=" ")
            print(f"{mutant.before!r} -> {mutant.after!r}", flush=True)
    counts = collections.Counter(row["outcome"] for row in rows)
    valid, noticed = len(rows) - counts["invalid"], counts["killed"] + counts["hung"]
    print(f"{dict(counts)}: {noticed / max(valid, 1):.1%} of {valid} killed or hung")
    return 0


if __name__ == "__main__":
    sys.exit(main())
