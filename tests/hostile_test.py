"""Programs that mean no good end in the error that they deserve, and the process lives.

Each runs in a process of its own, so that a test of it fails and does not end the others.
"""

from __future__ import annotations

import pathlib
import re
import resource
from typing import Any

import pytest

# The second and third fill the table of the first.
from tests import hostile_arrays, hostile_cases, hostile_lists, list_cases, stock  # noqa: F401


def answer(name: str) -> tuple[Any, ...]:
    """What the program `name` does; called in a child.

    It may take 8 GiB more, so that what no memory holds is the same on every machine.
    """
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (8 << 30), most))
    return list_cases.outcome(hostile_cases.CASES[name][0])


@pytest.mark.parametrize("name", list(hostile_cases.CASES))
def test_ends_as_it_should(name: str, ours: stock.Runner) -> None:
    _, kind, text = hostile_cases.CASES[name]
    got = ours.call("tests.hostile_test:answer", name, timeout=120.0)
    assert isinstance(got, tuple), got
    if kind == "ok":
        assert (got[0], repr(got[1])) == ("ok", text), got
    else:
        assert got[:2] == ("error", kind), got
        assert re.search(text, got[2]), got
