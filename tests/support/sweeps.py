"""Tests with many cases, of which only some run unless pytest gets the option --sweep."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator

import pytest


def left_out(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Those of `items` that a run without --sweep leaves out.

    Of the cases of a test that have the mark `sweep(n)`, every n-th runs, the first one included.
    If the test has several parameters, n should have no factor in common with how many values each
    of them has; otherwise some values may never run.
    """
    seen: collections.Counter[str] = collections.Counter()
    for item in items:
        mark = item.get_closest_marker("sweep")
        if mark is None:
            continue
        test = item.nodeid.partition("[")[0]
        if seen[test] % mark.args[0]:
            yield item
        seen[test] += 1
