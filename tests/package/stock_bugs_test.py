"""The programs of docs/stock_bugs.md do on stock and with the library what the page says.

The page describes each run in one bullet. Its first sentence is compared with the run:

    - Stock: prints `[10, 0, 100]`. ...          exits with 0 and prints these numbers to stdout
    - Stock: raises NotFoundError, "x ... y".    exits with this error, whose text has both parts
    - Stock: SIGABRT, `Check failed: x`.         the signal ends the process, which printed the text
    - Stock: SIGABRT in most runs                the signal ends the process, or it exits with 0
    - Library: "x".                              exits with InvalidArgumentError and the text
    - Stock: x if oneDNN is on, y if it is off.  the one that holds for this process
    - Library: the same.                         as the bullet on stock
    - TensorFlow 2.16: ...                       both, if that is the version

Of numbers, the value is compared and not how it is printed. A run on stock that differs from the
page fails only with --sweep, and is a warning otherwise. A run with the library that differs fails,
unless the page says the same of both and stock differs from it in the same way.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import signal

import pytest
import tensorflow as tf

from tensor_array_grad import _tf_private
from tests.support import child

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/stock_bugs.md"
VERSION = ".".join(tf.__version__.split(".")[:2])
ENTRY = re.compile(
    r"^### (?P<title>[^\n]*)\n\n```python\n(?P<program>.*?)^```\n\n"
    r"- Stock: (?P<stock>.*?)^- Library: (?P<library>.*?)(?=^- |^#|\Z)"
    rf"(?:- TensorFlow {re.escape(VERSION)}: (?P<version>.*?)(?=^- |^#|\Z))?",
    re.MULTILINE | re.DOTALL,
)
# A quotation or code, or any character that does not end the sentence. A colon ends it, unless it
# stands before a quotation.
FIRST_SENTENCE = re.compile(r'(?:`[^`]*`|"[^"]*"|(?!\.( |$)|: (?!")).)*')
BY_ONEDNN = re.compile(r"(?P<on>.*) if oneDNN is on, (?P<off>.*) if it is off")
PRELUDE = """\
import resource, signal
import tensorflow as tf

resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))  # bytes of address space
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
signal.alarm(60)  # seconds after which SIGALRM ends the process
raw = tf.raw_ops

"""
QUOTED = re.compile(r'[`"]([^`"]*)[`"]')

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the tests lie outside a checkout")


def entries() -> list[Entry]:
    return [Entry.of(match) for match in ENTRY.finditer(PAGE.read_text())]


def tokens(text: str) -> list[str | float]:
    found = re.findall(r"[^\W\d]+|-?\d+(?:\.\d*)?(?:e[+-]?\d+)?", text)
    return [float(token) if token[-1] in "0123456789." else token for token in found]


def occurrences(part: str, text: str) -> int:
    wanted, found = tokens(part), tokens(text)
    return sum(found[i : i + len(wanted)] == wanted for i in range(len(found)))


@dataclasses.dataclass(frozen=True)
class Expected:
    """What a sentence says about a run."""

    statuses: set[int]
    parts: list[str]  # of the output
    times: int  # how often each part occurs at least


def expected(text: str) -> Expected:
    sentence = FIRST_SENTENCE.match(" ".join(text.split()))[0]
    if either := BY_ONEDNN.fullmatch(sentence):
        sentence = either["on" if _tf_private.is_onednn_enabled() else "off"]
    if sentence.startswith('"'):
        sentence = f"raises InvalidArgumentError: {sentence}"
    words = QUOTED.sub("", sentence)
    statuses = {-getattr(signal, name) for name in re.findall(r"SIG\w+", words)}
    if "in most runs" in words:
        statuses.add(0)
    errors = re.findall(r"\w+Error", words)
    quoted = [part for quote in QUOTED.findall(sentence) for part in quote.split("...")]
    return Expected(
        statuses or {1 if errors else 0}, errors + quoted, 2 if "twice" in words.split() else 1
    )


def difference(text: str, status: int, output: str) -> str | None:
    """How a run differs from what the page says."""
    page = expected(text)
    if status not in page.statuses:
        return f"ended with {status}"
    missing = [part for part in page.parts if occurrences(part, output) < page.times]
    return f"did not print {missing}" if missing else None


@dataclasses.dataclass(frozen=True)
class Entry:
    """A program of the page, and what the page says about it."""

    title: str
    program: str
    says: dict[str, str]  # of stock and of the library
    same: bool  # whether the page says the same of both

    @classmethod
    def of(cls, match: re.Match[str]) -> Entry:
        both = match["version"] or (match["library"].startswith("the same") and match["stock"])
        says = {side: both or match[side] for side in ("stock", "library")}
        return cls(match["title"], match["program"], says, bool(both))

    def difference(self, file: pathlib.Path, side: str) -> tuple[str, str] | None:
        """How a run differs from what the page says, and all that the run printed."""
        runner = () if side == "stock" else ("-m", "tensor_array_grad")
        file.write_text(PRELUDE + self.program)  # autograph reads the source of functions
        switch = "off" if side == "stock" else ""
        done = child.python(*runner, str(file), TENSOR_ARRAY_GRAD=switch)
        printed = done.stdout + done.stderr
        text = self.says[side]
        how = difference(text, done.returncode, printed if done.returncode else done.stdout)
        return how and (how, f"{self.title}: {how}\npage: {text}\n{printed}")


def differences_of_stock(entries: list[Entry], file: pathlib.Path) -> list[str]:
    found = [entry.difference(file, "stock") for entry in entries]
    return [text for _, text in filter(None, found)]


def differences_of_the_library(
    entries: list[Entry], file: pathlib.Path
) -> tuple[list[str], list[str]]:
    """The differences of the library, and those that stock has too where both should be alike."""
    own, shared = [], []
    for entry in entries:
        how, text = entry.difference(file, "library") or ("", "")
        if how:
            stocks, _ = (entry.same and entry.difference(file, "stock")) or ("", "")
            (shared if how == stocks else own).append(text)
    return own, shared


def test_the_page_describes_every_program():
    page = PAGE.read_text()
    assert len(entries()) == page.count("\n### ") == page.count("```python\n") - 1
    table = re.findall(r"^\| \[.*\| (\d+) \|$", page, re.MULTILINE)
    assert [int(count) for count in table] == [
        section.count("\n### ") for section in page.split("\n## ")[1:]
    ]


def test_the_programs_do_on_stock_what_the_page_says(tmp_path, expect_of_stock):
    found = "\n".join(differences_of_stock(entries(), tmp_path / "program.py"))
    expect_of_stock(not found, found)


def test_the_programs_do_with_the_library_what_the_page_says(tmp_path, expect_of_stock):
    own, shared = differences_of_the_library(entries(), tmp_path / "program.py")
    assert "\n".join(own) == ""
    expect_of_stock(not shared, "\n".join(shared))


def entry(program: str, stock: str, library: str = "the same.\n") -> Entry:
    page = f"### A title\n\n```python\n{program}\n```\n\n- Stock: {stock}- Library: {library}"
    return Entry.of(ENTRY.match(page))


def test_stock_that_is_better_than_the_page_says_is_no_difference_of_the_library(tmp_path):
    file = tmp_path / "program.py"
    better = [entry("print(1)", "SIGSEGV.\n")]
    assert "A title: ended with 0" in "".join(differences_of_stock(better, file))
    own, shared = differences_of_the_library(better, file)
    assert own == []
    assert "A title: ended with 0" in "".join(shared)


def test_a_difference_of_the_library_alone_is_found(tmp_path):
    program = "import sys\nprint('tensor_array_grad' in sys.modules)"
    for page in (entry(program, "prints `False`.\n"), entry(program, "`True`.\n", "`False`.\n")):
        own, shared = differences_of_the_library([page], tmp_path / "program.py")
        assert "A title: did not print ['False']" in "".join(own)
        assert shared == []


def test_of_two_descriptions_that_of_the_state_of_onednn_is_taken(monkeypatch):
    text = "SIGSEGV if oneDNN is on, raises XError if it is off. Or not."
    monkeypatch.setattr(_tf_private, "is_onednn_enabled", lambda: True)
    assert expected(text) == Expected({-signal.SIGSEGV}, [], 1)
    monkeypatch.setattr(_tf_private, "is_onednn_enabled", lambda: False)
    assert expected(text) == Expected({1}, ["XError"], 1)


@pytest.mark.parametrize("sweep", ["", "--sweep"])
def test_a_fault_that_stock_lacks_fails_only_with_sweep(tmp_path, sweep):
    test = tmp_path / "a_test.py"
    test.write_text("def test_it(expect_of_stock):\n    expect_of_stock(False, 'no fault')\n")
    options = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", *sweep.split()]
    root = str(PAGE.parents[1])
    done = child.python("-m", "pytest", *options, str(test), PYTHONPATH=root)
    assert done.returncode == (1 if sweep else 0), done.stdout
    assert ("Failed: no fault" if sweep else "UserWarning: no fault") in done.stdout


@pytest.mark.parametrize(
    ("text", "statuses", "parts"),
    [
        ("prints `[1, 2]`: `x` is\n  one. It is `2`.", {0}, ["[1, 2]"]),
        ('raises XError, "a ... b: c. d". `e`', {1}, ["XError", "a ", " b: c. d"]),
        ('"a. b", when it is read.', {1}, ["InvalidArgumentError", "a. b"]),
        ("SIGSEGV or SIGABRT. It", {-signal.SIGSEGV, -signal.SIGABRT}, []),
    ],
)
def test_the_first_sentence_is_what_is_expected(text, statuses, parts):
    assert expected(text) == Expected(statuses, parts, 1)


def test_a_run_that_differs_from_the_page_is_reported():
    assert difference("prints `[1, 0]`.", 0, "[1. 0.]\n") is None
    assert difference("prints `[1, 0]` twice.", 0, "[1. 0.]\n") == "did not print ['[1, 0]']"
    assert difference("prints `[1, 0]`.", 0, "[11. 0.]\n") == "did not print ['[1, 0]']"
    assert difference("prints `1`.", -signal.SIGSEGV, "1") == "ended with -11"
    assert difference("SIGABRT.", 0, "") == "ended with 0"
    assert difference("SIGABRT in most runs.", 0, "") is None
    assert difference("SIGABRT in most runs.", -signal.SIGALRM, "") == "ended with -14"
