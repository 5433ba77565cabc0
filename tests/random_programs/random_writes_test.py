"""Gradients of random writes to arrays equal stock's."""

from __future__ import annotations

import pytest

from tests.random_programs import random_writes


@pytest.mark.parametrize("jit", [False, True], ids=["", "jit"])
def test_gradients_of_random_writes_equal_stocks(ours, stocks, capfd, jit):
    # XLA compiles a program for 2 s. The command line of random_writes runs any number of them.
    counts = random_writes.compare(ours, stocks, range(0, 200, 40 if jit else 20), jit)
    assert counts["different"] == 0, capfd.readouterr().out
    assert counts["programs"] == (5 if jit else 10)
    assert counts["refused"] <= counts["programs"] // 2
