"""The programs of docs/stock_bugs.md do on stock and with the library what the page says.

The page describes each run in one bullet. Its first sentence is compared with the run:

    - Stock: prints `[10, 0, 100]`. ...          exits with 0 and prints these numbers to stdout
    - Stock: raises NotFoundError, "x ... y".    exits with this error, whose text has both parts
    - Stock: SIGABRT, `Check failed: x`.         the signal ends the process, which printed the text
    - Stock: SIGABRT in most runs                the signal ends the process, or it exits with 0
    - Library: "x".                              exits with InvalidArgumentError and the text
    - Library: the same.                         as the bullet on stock
    - TensorFlow 2.16: ...                       both, if that is the version

Of numbers, the value is compared and not how it is printed.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import signal

import pytest
import tensorflow as tf

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


def entries() -> list[re.Match[str]]:
    return list(ENTRY.finditer(PAGE.read_text()))


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


def run(folder: pathlib.Path, side: str) -> list[str]:
    """Runs all programs of the page; returns how they differ from what the page says."""
    runner = () if side == "stock" else ("-m", "tensor_array_grad")
    switch = "off" if side == "stock" else ""
    differences = []
    for i, entry in enumerate(entries()):
        text = (
            entry["version"] or entry["stock" if entry["library"].startswith("the same") else side]
        )
        program = folder / f"{i}.py"  # autograph reads the source of functions
        program.write_text(PRELUDE + entry["program"])
        done = child.python(*runner, str(program), TENSOR_ARRAY_GRAD=switch)
        status, output, log = done.returncode, done.stdout, done.stderr
        how = difference(text, status, output + log if status else output)
        if how is not None:
            differences.append(f"{entry['title']}: {how}\npage: {text}\n{output}{log}")
    return differences


def test_the_page_describes_every_program():
    page = PAGE.read_text()
    assert len(entries()) == page.count("\n### ") == page.count("```python\n") - 1
    table = re.findall(r"^\| \[.*\| (\d+) \|$", page, re.MULTILINE)
    assert [int(count) for count in table] == [
        section.count("\n### ") for section in page.split("\n## ")[1:]
    ]


def test_the_programs_do_on_stock_what_the_page_says(tmp_path):
    assert "\n".join(run(tmp_path, "stock")) == ""


def test_the_programs_do_with_the_library_what_the_page_says(tmp_path):
    assert "\n".join(run(tmp_path, "library")) == ""


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
