"""The programs in the documents run, and the diagrams are those that tools/diagrams.py draws."""

from __future__ import annotations

import pathlib
import re

import pytest

from tests.support import child
from tools import diagrams

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Pages whose Python blocks are programs that succeed. stock_bugs_test.py has those that may fail.
PAGES = ["README.md", *(f"docs/{name}.md" for name in ("guide", "how_it_works"))]
NO_PROGRAM = "<!-- not a program -->\n"
BLOCK = re.compile(rf"^({NO_PROGRAM})?```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="the tests lie outside a checkout"
)


def blocks(text: str) -> list[tuple[int, str]]:
    """The programs of a page, each with the line on which it begins."""
    found = [block for block in BLOCK.finditer(text) if not block[1]]
    return [(text.count("\n", 0, block.start(2)) + 1, block[2]) for block in found]


def programs() -> list[object]:
    pages = [path for path in (ROOT / page for page in PAGES) if path.exists()]
    return [
        pytest.param(source, id=f"{page.relative_to(ROOT)}:{line}")
        for page in pages
        for line, source in blocks(page.read_text())
    ]


@pytest.mark.parametrize("source", programs())
def test_a_program_of_the_documents_runs(source, tmp_path):
    program = tmp_path / "program.py"  # autograph reads the source of functions
    program.write_text(source)
    child.succeeded(child.python(str(program)))


def test_every_page_has_programs():
    for page in PAGES:
        assert blocks((ROOT / page).read_text()), page


def test_other_pages_have_no_programs():
    others = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - {*PAGES}
    assert {page for page in others if blocks((ROOT / page).read_text())} == {"docs/stock_bugs.md"}


def test_a_marked_block_is_no_program():
    text = f"text\n```python\na = 1\n```\n\n{NO_PROGRAM}```python\nb\n```\n"
    assert blocks(text) == [(3, "a = 1\n")]


def test_the_diagrams_are_those_that_the_tool_draws():
    drawn = {f"{diagram.__name__}.svg": diagram().svg() for diagram in diagrams.DIAGRAMS}
    images = ROOT / "docs/images"
    assert drawn == {path.name: path.read_text() for path in images.glob("*.svg")}
