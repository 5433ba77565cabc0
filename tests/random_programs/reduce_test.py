"""Tests of `tests.random_programs.reduce`."""

from __future__ import annotations

from tests.random_programs import reduce

_TEXT = """\
import math

def program(x):
    a = x + 1
    if x > 0:
        b = a * 2
        for i in range(3):

            b = math.sqrt(b)
    c = a + 5
    return a
"""


def test_a_program_is_reduced_to_the_statements_that_matter() -> None:
    def differs(text: str) -> bool:
        try:
            compile(text, "text", "exec")
        except SyntaxError:
            return False
        return "math.sqrt" in text and "def" in text

    assert reduce.reduced(_TEXT, differs) == "def program(x):\n    b = math.sqrt(b)\n"


def test_a_program_of_which_all_is_needed_stays() -> None:
    assert reduce.reduced(_TEXT, lambda text: text == _TEXT) == _TEXT
