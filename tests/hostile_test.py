"""Programs that mean no good end in the error that they deserve, and the process lives.

Each runs in a process of its own, so that a test of it fails and does not end the others.
"""

from __future__ import annotations

from typing import Any

import pytest

# The second and third fill the table of the first.
from tests import hostile_arrays, hostile_cases, hostile_lists, list_cases, stock  # noqa: F401


def answer(name: str) -> tuple[Any, ...]:
    """What the program `name` does; called in a child."""
    return list_cases.outcome(hostile_cases.CASES[name][0])


@pytest.mark.parametrize("name", list(hostile_cases.CASES))
def test_ends_as_it_should(name: str, ours: stock.Runner) -> None:
    _, kind, text = hostile_cases.CASES[name]
    got = ours.call("tests.hostile_test:answer", name, timeout=120.0)
    assert isinstance(got, tuple), got
    if kind == "ok":
        assert got == ("ok", got[1]), got
        assert repr(got[1]) == text
    else:
        assert got[:2] == ("error", kind), got
        with pytest.raises(AssertionError, match=text):
            raise AssertionError(got[2])
